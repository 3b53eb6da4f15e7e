/** Round positions for a time axis. */

import type { Span } from '@/time/span'
import { widthOf } from '@/time/span'

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const STEPS = [
  10, 20, 50, 100, 200, 500,
  SECOND, 2 * SECOND, 5 * SECOND, 10 * SECOND, 15 * SECOND, 30 * SECOND,
  MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE,
  HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY,
]

/** The smallest round step that leaves at least `minPixels` between ticks. */
export function tickStep(span: Span, pixels: number, minPixels = 88): number {
  const wanted = (widthOf(span) * minPixels) / Math.max(pixels, 1)
  return STEPS.find((step) => step >= wanted) ?? 7 * DAY
}

/** Tick times inside the span. `offsetMs` (local time minus UTC) puts day and hour ticks on local midnight and hours. */
export function ticks(span: Span, step: number, offsetMs = 0): number[] {
  const out: number[] = []
  const first = Math.ceil((span.from + offsetMs) / step) * step - offsetMs
  for (let time = first; time <= span.to; time += step) out.push(time)
  return out
}
