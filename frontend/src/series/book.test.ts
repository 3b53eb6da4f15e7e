import { expect, it } from 'vitest'
import type { LiveFrame, SeriesAnswer } from '@/api/schema'
import { SeriesBook } from '@/series/book'

const GPU = 'gpu:a'
const ACTIVE = 'gpu_graphics_active_ratio'

function answer(time: number[], value: number): SeriesAnswer {
  const mean = time.map(() => value)
  const series = { entity: GPU, metric: ACTIVE, unit: 'ratio', time_ms: time, mean, min: mean, max: mean, idle_share: null, missing: [] }
  return { host: 'h', start: '', end: '', raw: true, bucket_ms: null, series: [series] }
}

function frame(time: number, value: number | null): LiveFrame {
  return { type: 'frame', host: 'h', time_ms: time, values: { [GPU]: { [ACTIVE]: value, other: 1 } } }
}

it('goes on with live frames after the stored samples, whichever was asked for first', () => {
  const book = new SeriesBook()
  book.take(answer([0, 100, 200], 0.5))
  expect(book.track(GPU, ACTIVE).time).toEqual([0, 100, 200])
  book.append(frame(200, 0.9), new Set([ACTIVE]))
  book.append(frame(300, 0.01), new Set([ACTIVE]))
  expect(book.track(GPU, ACTIVE).mean).toEqual([0.5, 0.5, 0.5, 0.01])
  expect(book.track(GPU, ACTIVE).idle).toEqual([0, 0, 0, 1])
  book.take(answer([0, 100, 200, 300], 0.4))
  book.append(frame(400, null), new Set([ACTIVE]))
  expect(book.track(GPU, ACTIVE).mean).toEqual([0.4, 0.4, 0.4, 0.4, null])
})

it('keeps only metrics that a lane shows, and counts changes', () => {
  const book = new SeriesBook()
  book.append(frame(100, 0.2), new Set([ACTIVE]))
  expect(book.track(GPU, 'other').time).toEqual([])
  expect(book.version.value).toBe(1)
})
