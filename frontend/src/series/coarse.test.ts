import { expect, it } from 'vitest'
import type { SeriesAnswer } from '@/api/schema'
import { SeriesBook } from '@/series/book'
import { coarseBucket } from '@/series/coarse'
import { idleRuns } from '@/series/idle'
import { holes, meanOver } from '@/series/track'

/** Three buckets of 10 s on their grid, around a view of a second. */
const answer: SeriesAnswer = {
  host: 'h', start: '1970-01-01T00:00:10Z', end: '1970-01-01T00:00:40Z', raw: false, bucket_ms: 10_000,
  series: [{
    entity: 'gpu:0', metric: 'gpu_graphics_active_ratio', unit: 'ratio', time_ms: [10_000, 20_000, 30_000], mean: [0.9, 0.2, 0.9],
    min: [0.8, 0, 0.8], max: [1, 1, 1], idle_share: [0, 0.75, 0], missing: [],
  }],
}

it.each([[500, 10_000], [5000, 10_000], [8000, null], [20_000, null]])('buckets of 10 s where %d ms were asked for', (asked, told) => {
  expect(coarseBucket(answer, asked)).toBe(told)
})

it('says nothing of samples and of fine buckets', () => {
  expect(coarseBucket({ ...answer, raw: true }, 100)).toBeNull()
  expect(coarseBucket({ ...answer, bucket_ms: 64 }, 16)).toBeNull()
})

it('a view narrower than a bucket still has its value and its idleness, and no hole', () => {
  const book = new SeriesBook()
  book.take(answer)
  const track = book.track('gpu:0', 'gpu_graphics_active_ratio')
  const view = { from: 24_000, to: 25_000 }
  expect(holes(track, view)).toEqual([])
  expect(meanOver(track, view)).toBe(0.2)
  expect(meanOver(track, { from: 15_000, to: 25_000 })).toBeCloseTo(0.55)
  expect(idleRuns(track, view)).toEqual([{ from: 20_000, to: 30_000, share: 0.75 }])
})
