/** What the lanes of one host share. */

import type { InjectionKey, Ref } from 'vue'
import { inject } from 'vue'
import type { SeriesBook } from '@/series/book'
import type { Viewport } from '@/timeline/viewport'

export interface TimelineContext {
  book: SeriesBook
  viewport: Viewport
  /** Width of every plot in CSS pixels. */
  plotWidth: Ref<number>
}

export const timelineKey: InjectionKey<TimelineContext> = Symbol('timeline')

export function useTimeline(): TimelineContext {
  const context = inject(timelineKey)
  if (!context) throw new Error('This component belongs inside a timeline.')
  return context
}
