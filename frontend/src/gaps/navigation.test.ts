import { expect, it } from 'vitest'
import type { GapInfo } from '@/api/schema'
import { gapView, longestFirst, neighbourGap, settledGaps } from '@/gaps/navigation'

function gap(from: number, to: number): GapInfo {
  return { entity: 'gpu:a', from_ms: from, to_ms: to, idle_seconds: (to - from) / 1000 }
}
const gaps = [gap(5000, 6000), gap(1000, 1200), gap(8000, 8400)]

it('steps through the gaps in time order, however they are listed', () => {
  const first = neighbourGap(gaps, { from: 0, to: 1000 }, 1)
  expect(first?.from_ms).toBe(1000)
  const second = neighbourGap(gaps, gapView(first as GapInfo), 1)
  expect(second?.from_ms).toBe(5000)
  expect(neighbourGap(gaps, gapView(second as GapInfo), -1)?.from_ms).toBe(1000)
})

it('does not find the gap again that the view is centred on, when another answer shifts it by a part of a cell', () => {
  const shifted = gaps.map((item) => gap(item.from_ms + 60, item.to_ms + 60))
  expect(neighbourGap(shifted, gapView(gap(5000, 6000)), 1)?.from_ms).toBe(8060)
})

it('shows at least two seconds, with the gap in the middle', () => {
  expect(gapView(gap(5000, 5100))).toEqual({ from: 4050, to: 6050 })
  expect(gapView(gap(10_000, 20_000))).toEqual({ from: 4000, to: 26_000 })
})

it('leaves out gaps at the edge of live data', () => {
  expect(settledGaps(gaps, 10_300).map((item) => item.from_ms)).toEqual([5000, 1000])
  expect(settledGaps(gaps, 10_400)).toHaveLength(3)
})

it('ends at the ends', () => {
  expect(neighbourGap(gaps, gapView(gap(8000, 8400)), 1)).toBeNull()
  expect(neighbourGap([], { from: 0, to: 1 }, 1)).toBeNull()
})

it('lists the longest first without touching the answer', () => {
  expect(longestFirst(gaps).map((item) => item.from_ms)).toEqual([5000, 8000, 1000])
  expect(gaps[1]?.from_ms).toBe(1000)
})
