import { expect, it } from 'vitest'
import type { SeriesAnswer } from '@/api/schema'
import { summaries } from '@/selection/summary'

function answer(bucketMs: number | null, mean: (number | null)[]): SeriesAnswer {
  const time = mean.map((_, i) => i * 1000)
  return {
    host: 'h', start: '', end: '', raw: bucketMs === null, bucket_ms: bucketMs,
    series: [{
      entity: 'gpu:0', metric: 'm', unit: 'ratio', time_ms: time, mean, min: mean.map((value) => value && value - 1), max: mean,
      idle_share: null, missing: [{ from_ms: 0, to_ms: 1, reason: 'no_permission' }, { from_ms: 2, to_ms: 3, reason: 'no_permission' }],
    }],
  }
}

it('weighs buckets by the part that lies in the span', () => {
  const [summary] = summaries(answer(1000, [10, 20, 40]), { from: 500, to: 2000 })
  expect(summary?.mean).toBeCloseTo((10 * 500 + 20 * 1000) / 1500)
  expect([summary?.least, summary?.most]).toEqual([9, 40])
  expect(summary?.missing).toEqual(['no_permission'])
})

it('has no mean, rather than 0, without values', () => {
  expect(summaries(answer(null, [null, null]), { from: 0, to: 2000 })[0]?.mean).toBeNull()
})
