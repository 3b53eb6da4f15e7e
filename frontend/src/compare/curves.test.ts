import { expect, it } from 'vitest'
import type { SeriesAnswer, SeriesData } from '@/api/schema'
import { meanCurve, overall } from '@/compare/curves'

function series(mean: (number | null)[]): SeriesData {
  const time = mean.map((_, i) => 10_000 + i * 1000)
  return { entity: 'gpu:0', metric: 'm', unit: 'ratio', time_ms: time, mean, min: mean, max: mean, idle_share: null, missing: [] }
}
const answer = (...all: SeriesData[]): SeriesAnswer => ({ host: 'h', start: '', end: '', raw: false, bucket_ms: 1000, series: all })

it('is the mean over the GPUs that have a value, from the start of the span', () => {
  const curve = meanCurve(answer(series([0.2, null, 0.4]), series([0.4, null, null])), { from: 10_500, to: 13_000 })
  expect(curve.map(({ time }) => time)).toEqual([0, 500, 1500])
  expect(curve[0]?.value).toBeCloseTo(0.3)
  expect(curve.slice(1).map(({ value }) => value)).toEqual([null, 0.4])
  expect(overall(curve)).toBeCloseTo(0.35)
})

it('has no mean, rather than 0, without values', () => {
  expect(overall(meanCurve(answer(series([null])), { from: 0, to: 20_000 }))).toBeNull()
  expect(meanCurve(answer(), { from: 0, to: 1 })).toEqual([])
})
