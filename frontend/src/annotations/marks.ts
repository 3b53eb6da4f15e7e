/** Notes of people and events of the host as marks on the timeline; what lies too near to tell apart is one mark. */

import type { AnnotationInfo } from '@/api/incidentSchema'
import type { EventInfo } from '@/api/schema'
import type { Span } from '@/time/span'
import { widthOf } from '@/time/span'

export interface Mark extends Span {
  key: string
  kind: string
  text: string
  /** Who wrote it; empty for an event. */
  by: string
  /** Null for an event, which nobody can remove. */
  id: string | null
}

export function marksOf(annotations: readonly AnnotationInfo[], events: readonly EventInfo[]): Mark[] {
  const notes = annotations.map((note) => ({
    key: note.id, id: note.id, from: note.at_ms, to: note.to_ms, kind: note.kind, text: note.text, by: note.made_by,
  }))
  const happened = events.map((event) => {
    const at = Date.parse(event.time)
    return { key: `${event.time} ${event.kind} ${event.entity} ${event.text}`, id: null, from: at, to: at, kind: event.kind, text: event.text, by: '' }
  })
  return [...notes, ...happened].sort((a, b) => a.from - b.from)
}

export interface MarkGroup {
  /** Pixels from the left edge of the plot; the width of a span, 0 of a moment. */
  left: number
  width: number
  marks: Mark[]
}

/** The visible marks in pixels. Neighbours nearer than `nearest` pixels are one group; spans stand for themselves. */
export function groupsOf(marks: readonly Mark[], span: Span, width: number, nearest: number): MarkGroup[] {
  const place = (time: number): number => ((time - span.from) / widthOf(span)) * width
  const groups: MarkGroup[] = []
  for (const mark of marks) {
    if (mark.to < span.from || mark.from > span.to) continue
    const left = Math.max(0, place(mark.from))
    const wide = Math.min(width, place(mark.to)) - left
    const last = groups.at(-1)
    if (last && last.width < nearest && wide < nearest && left - last.left < nearest) last.marks.push(mark)
    else groups.push({ left, width: Math.max(0, wide), marks: [mark] })
  }
  return groups
}
