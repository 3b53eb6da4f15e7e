/** Series of a span as one figure each, whatever grid their buckets came on. */

import type { SeriesAnswer, SeriesData } from '@/api/schema'
import type { Span } from '@/time/span'

export interface SeriesSummary {
  entity: string
  metric: string
  unit: string
  mean: number | null
  least: number | null
  most: number | null
  /** Why parts of the span have no value. */
  missing: string[]
}

function known(values: readonly (number | null)[]): number[] {
  return values.filter((value): value is number => value !== null)
}

/** A bucket on the edge counts by the part of it that lies in the span. */
function weightedMean(data: SeriesData, span: Span, bucketMs: number): number | null {
  let sum = 0
  let weight = 0
  data.time_ms.forEach((time, i) => {
    const value = data.mean[i]
    const part = Math.min(span.to, time + bucketMs) - Math.max(span.from, time)
    if (value === null || value === undefined || part <= 0) return
    sum += value * part
    weight += part
  })
  return weight > 0 ? sum / weight : null
}

export function summaries(answer: SeriesAnswer, span: Span): SeriesSummary[] {
  return answer.series.map((data) => {
    const least = known(data.min)
    const most = known(data.max)
    return {
      entity: data.entity,
      metric: data.metric,
      unit: data.unit,
      mean: weightedMean(data, span, answer.bucket_ms ?? 1),
      least: least.length ? Math.min(...least) : null,
      most: most.length ? Math.max(...most) : null,
      missing: [...new Set(data.missing.map((hole) => hole.reason))],
    }
  })
}
