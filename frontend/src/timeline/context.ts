/** What the lanes of one host share. */

import { refThrottled } from '@vueuse/core'
import type { InjectionKey, Ref } from 'vue'
import { computed, inject, ref, shallowRef } from 'vue'
import type { Mark } from '@/annotations/marks'
import type { Selection } from '@/selection/selection'
import { SeriesBook } from '@/series/book'
import type { Span } from '@/time/span'
import type { Viewport } from '@/timeline/viewport'

/** Figures in labels change this often at most: ten times a second nobody can read them. */
const LABEL_MS = 500

/** The data and the span that labels tell of. */
export interface LabelState {
  version: number
  span: Span
}

export interface TimelineContext {
  book: SeriesBook
  viewport: Viewport
  selection: Selection
  /** Notes whose lines go through all lanes. */
  marks: Ref<readonly Mark[]>
  /** The host sends nothing any more. */
  isStale: Ref<boolean>
  /** Width of every plot in CSS pixels. */
  plotWidth: Ref<number>
  /** Changes seldom enough to be read; drawing watches the book and the viewport themselves. */
  labels: Ref<LabelState>
}

export function timelineContext(viewport: Viewport, selection: Selection): TimelineContext {
  const book = new SeriesBook()
  const now = computed(() => ({ version: book.version.value, span: viewport.span.value }))
  return { book, viewport, selection, marks: shallowRef([]), isStale: ref(false), plotWidth: ref(0), labels: refThrottled(now, LABEL_MS, true, true) }
}

export const timelineKey: InjectionKey<TimelineContext> = Symbol('timeline')

export function useTimeline(): TimelineContext {
  const context = inject(timelineKey)
  if (!context) throw new Error('This component belongs inside a timeline.')
  return context
}
