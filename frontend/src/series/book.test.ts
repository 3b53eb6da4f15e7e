import { expect, it } from 'vitest'
import type { SeriesAnswer } from '@/api/schema'
import type { LiveColumns } from '@/live/keeper'
import { keyOf } from '@/live/keeper'
import { SeriesBook } from '@/series/book'

const GPU = 'gpu:a'
const ACTIVE = 'gpu_graphics_active_ratio'

function answer(time: number[], value: number): SeriesAnswer {
  const mean = time.map(() => value)
  const series = { entity: GPU, metric: ACTIVE, unit: 'ratio', time_ms: time, mean, min: mean, max: mean, idle_share: null, missing: [] }
  return { host: 'h', start: '', end: '', raw: true, bucket_ms: null, series: [series] }
}

const KEY = keyOf(GPU, ACTIVE)

function frame(time: number, value: number | null): LiveColumns {
  return { time, keys: [KEY], values: Float64Array.of(value ?? Number.NaN) }
}

it('goes on with live frames after the stored samples, whichever was asked for first', () => {
  const book = new SeriesBook()
  book.take(answer([0, 100, 200], 0.5))
  expect(book.track(GPU, ACTIVE).time).toEqual([0, 100, 200])
  book.append(frame(200, 0.9))
  book.append(frame(300, 0.01))
  expect(book.track(GPU, ACTIVE).mean).toEqual([0.5, 0.5, 0.5, 0.01])
  expect(book.track(GPU, ACTIVE).idle).toEqual([0, 0, 0, 1])
  book.take(answer([0, 100, 200, 300], 0.4))
  book.append(frame(400, null))
  expect(book.track(GPU, ACTIVE).mean).toEqual([0.4, 0.4, 0.4, 0.4, null])
})

it('keeps what stands until the live samples after a new answer are there', () => {
  const book = new SeriesBook()
  const asked: [readonly string[], number[]][] = []
  book.source = { ask: (keys, since) => asked.push([keys, [...since]]) }
  book.take(answer([0, 100], 0.5))
  expect(asked).toEqual([[[KEY], [100]]])
  book.append(frame(200, 0.9))
  book.append(frame(300, 0.9))
  book.take(answer([0, 100, 200], 0.4))
  expect(asked[1]).toEqual([[KEY], [200]])
  expect(book.track(GPU, ACTIVE).mean).toEqual([0.5, 0.5, 0.9, 0.9])
  book.append(frame(400, null))
  book.receive([{ key: KEY, samples: { oldest: 200, times: Float64Array.of(300, 400), values: Float64Array.of(0.9, Number.NaN) } }])
  expect(book.track(GPU, ACTIVE).mean).toEqual([0.4, 0.4, 0.4, 0.9, null])
  book.append(frame(500, 0.7))
  expect(book.track(GPU, ACTIVE).time).toEqual([0, 100, 200, 300, 400, 500])
})

it('shortens a track that has grown for long', () => {
  const book = new SeriesBook()
  const asked: readonly string[][] = []
  book.source = { ask: (keys) => (asked as string[][]).push([...keys]) }
  for (let i = 0; i <= 12_000; i += 1) book.append(frame(i * 100, 0.5))
  expect(asked).toEqual([[KEY]])
  book.receive([{ key: KEY, samples: { oldest: 0, times: Float64Array.of(1, 2), values: Float64Array.of(1, 1) } }])
  expect(book.track(GPU, ACTIVE).time).toEqual([1, 2])
})
