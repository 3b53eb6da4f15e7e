/** From an incident to the timeline. */

import type { LocationQueryRaw } from 'vue-router'
import type { IncidentDetail } from '@/api/incidentSchema'
import type { Span } from '@/time/span'
import { padded } from '@/time/span'
import { spanQuery } from '@/view/url'

const ROOM = 0.15

/** The part of an incident that its frozen verdict covers: at most a quarter of an hour, which every view can answer. */
export function judgedSpan({ verdict }: IncidentDetail): Span {
  return { from: verdict.start_ns / 1e6, to: verdict.end_ns / 1e6 }
}

/** The query of a timeline that shows a span with some room, selected, in one of the drawer's views. */
export function timelineQuery(span: Span, tab: 'verdict' | 'flame'): LocationQueryRaw {
  return { t: spanQuery(padded(span, ROOM)), sel: spanQuery(span), tab, ...(tab === 'flame' ? { mode: 'gaps' } : {}) }
}

/** A long incident is judged by its newest part alone. */
export function isJudgedInPart(detail: IncidentDetail): boolean {
  return judgedSpan(detail).from - Date.parse(detail.summary.start) > 1000
}

/** `gpu:index-0` as people call it; a UUID by its beginning. */
export function gpuName(entity: string): string {
  const name = entity.replace(/^gpu:(index-)?/, '')
  return /^\d+$/.test(name) ? name : name.slice(0, 12)
}
