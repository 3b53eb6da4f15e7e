import { expect, it } from 'vitest'
import { Ring } from '@/live/ring'

it('keeps the newest samples when it is full', () => {
  const ring = new Ring(3)
  for (const time of [1, 2, 3, 4, 5]) ring.push(time, time * 10)
  expect(ring.length).toBe(3)
  expect([0, 1, 2].map((i) => [ring.timeAt(i), ring.valueAt(i)])).toEqual([[3, 30], [4, 40], [5, 50]])
})

it('gives a missing value back as null, not as 0', () => {
  const ring = new Ring(2)
  ring.push(1, null)
  expect(ring.valueAt(0)).toBeNull()
})

it('refuses what is not newer, as after a reconnect', () => {
  const ring = new Ring(4)
  ring.push(5, 1)
  expect(ring.push(5, 2)).toBe(false)
  expect(ring.push(4, 2)).toBe(false)
  expect(ring.length).toBe(1)
})

it('finds the first sample after a time, also once it has wrapped', () => {
  const ring = new Ring(4)
  for (const time of [10, 20, 30, 40, 50, 60]) ring.push(time, 0)
  expect(ring.firstAfter(0)).toBe(0)
  expect(ring.timeAt(ring.firstAfter(40))).toBe(50)
  expect(ring.firstAfter(60)).toBe(4)
})

it('copies what is newer than a time out of itself', () => {
  const ring = new Ring(3)
  for (const time of [10, 20, 30, 40]) ring.push(time, time === 30 ? null : time)
  const { oldest, times, values } = ring.since(20)
  expect([oldest, [...times], [...values]]).toEqual([20, [30, 40], [Number.NaN, 40]])
  expect(ring.since(40).times).toHaveLength(0)
  expect(new Ring(3).since(0).oldest).toBe(Number.POSITIVE_INFINITY)
})
