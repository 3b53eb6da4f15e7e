import { expect, it } from 'vitest'
import { tickStep, ticks } from '@/time/ticks'

it('takes the smallest round step that leaves room for labels', () => {
  expect(tickStep({ from: 0, to: 60_000 }, 900)).toBe(10_000)
  expect(tickStep({ from: 0, to: 1000 }, 900)).toBe(100)
})

it('puts ticks on round times inside the span', () => {
  expect(ticks({ from: 1500, to: 4200 }, 1000)).toEqual([2000, 3000, 4000])
})

it('follows the hours of a time zone that is half an hour off', () => {
  const hour = 3_600_000
  expect(ticks({ from: 0, to: hour }, hour, hour / 2)).toEqual([hour / 2])
})
