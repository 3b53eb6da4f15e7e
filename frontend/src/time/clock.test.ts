import { expect, it } from 'vitest'
import { spanText, tickLabel, timeOfDay } from '@/time/clock'

const NOON = Date.UTC(2030, 0, 31, 12, 3, 4, 56)

it('is as exact as the step needs', () => {
  expect(timeOfDay(NOON, 'utc', 60_000)).toBe('12:03')
  expect(timeOfDay(NOON, 'utc', 1000)).toBe('12:03:04')
  expect(timeOfDay(NOON, 'utc', 100)).toBe('12:03:04.056')
})

it('names the day at midnight', () => {
  expect(tickLabel(Date.UTC(2030, 0, 31), 'utc', 3_600_000)).toBe('2030-01-31')
})

it('writes milliseconds under a minute and the date once', () => {
  expect(spanText({ from: NOON, to: NOON + 1500 }, 'utc')).toBe('2030-01-31 12:03:04.056 – 12:03:05.556')
  expect(spanText({ from: NOON, to: NOON + 120_000 }, 'utc')).toBe('2030-01-31 12:03:04 – 12:05:04')
})

it('names both days of a span over midnight', () => {
  expect(spanText({ from: NOON, to: NOON + 86_400_000 }, 'utc')).toBe('2030-01-31 12:03:04 – 2030-02-01 12:03:04')
})
