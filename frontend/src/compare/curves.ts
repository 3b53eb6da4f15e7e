/** One curve a side: the mean over its GPUs, in time from its own start. */

import type { SeriesAnswer } from '@/api/schema'
import type { Span } from '@/time/span'

export type CompareCurve = { time: number; value: number | null }[]

export function meanCurve(answer: SeriesAnswer, span: Span): CompareCurve {
  const longest = answer.series.reduce((best, data) => (data.time_ms.length > best.length ? data.time_ms : best), [] as number[])
  return longest.flatMap((time, i) => {
    if (time >= span.to || time + (answer.bucket_ms ?? 0) < span.from) return []
    const values = answer.series.map((data) => data.mean[i]).filter((value) => value !== null && value !== undefined)
    const value = values.length ? values.reduce((sum, item) => sum + item, 0) / values.length : null
    return [{ time: Math.max(0, time - span.from), value }]
  })
}

/** Mean over a curve; null without values. */
export function overall(curve: CompareCurve): number | null {
  const known = curve.flatMap(({ value }) => (value === null ? [] : [value]))
  return known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : null
}
