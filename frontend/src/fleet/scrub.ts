/** The range of the time scrubber, and how moments on it move. Times in ms; moments are starts of minutes. */

import type { Span } from '@/time/span'
import { widthOf } from '@/time/span'

export const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** What the scrubber can span; `all` is everything that is stored. */
export const RANGES = { '1h': HOUR_MS, '6h': 6 * HOUR_MS, '24h': 24 * HOUR_MS, '7d': 168 * HOUR_MS, all: null } as const
export type Range = keyof typeof RANGES
export const DEFAULT_RANGE: Range = '24h'

export function isRange(text: unknown): text is Range {
  return typeof text === 'string' && Object.hasOwn(RANGES, text)
}

export function minuteOf(time: number): number {
  return Math.floor(time / MINUTE_MS) * MINUTE_MS
}

/** A moment in an address; null when it says nothing readable. */
export function parseMoment(text: unknown): number | null {
  return typeof text === 'string' && /^\d{1,16}$/.test(text) ? minuteOf(Number(text)) : null
}

/** The part of the scrubber after the newest minute: it stands for now. */
const NOW_SHARE = 0.02

/**
 * What the scrubber spans: up to the end of the newest minute and a little room for now, as far back as the range says
 * but not beyond what is stored by more than a tenth; where that leaves out the moment that is shown, around it.
 */
export function scrubSpan(bounds: Span, range: Range, at: number | null): Span {
  const end = bounds.to + MINUTE_MS
  const stored = end - bounds.from
  const width = Math.max(10 * MINUTE_MS, Math.min(RANGES[range] ?? stored, stored * 1.1))
  if (at !== null && (at < end - width || at > end)) return { from: at - width / 2, to: at + width / 2 }
  return { from: end - width, to: end + width * NOW_SHARE }
}

/** The minute under a position 0..1 of the span; null after the newest one: that is now. */
export function momentAt(span: Span, newest: number, position: number): number | null {
  const time = span.from + Math.max(0, position) * widthOf(span)
  if (time >= newest + MINUTE_MS) return null
  return Math.max(minuteOf(time), Math.ceil(span.from / MINUTE_MS) * MINUTE_MS)
}

/** Where a key leads; null is now, undefined: it is no key of the scrubber. */
export function scrubbed(span: Span, newest: number, at: number | null, key: string): number | null | undefined {
  const page = Math.max(MINUTE_MS, minuteOf(widthOf(span) / 20))
  const by = { ArrowLeft: -MINUTE_MS, ArrowDown: -MINUTE_MS, ArrowRight: MINUTE_MS, ArrowUp: MINUTE_MS, PageDown: -page, PageUp: page }[key]
  if (key === 'End') return null
  const first = Math.ceil(span.from / MINUTE_MS) * MINUTE_MS
  if (key === 'Home') return first
  if (by === undefined) return undefined
  if (at === null) return by < 0 ? newest + by + MINUTE_MS : null
  const target = Math.max(first, at + by)
  return target > newest ? null : target
}

/** Start of the incident before or after a moment (now: the newest); null where there is none. */
export function incidentBeside(starts: readonly number[], at: number | null, direction: 1 | -1): number | null {
  const minutes = [...new Set(starts.map(minuteOf))].sort((a, b) => a - b)
  if (direction < 0) return minutes.filter((minute) => at === null || minute < at).at(-1) ?? null
  return at === null ? null : minutes.find((minute) => minute > at) ?? null
}
