import { describe, expect, it } from 'vitest'
import { clipped, initialSpan, keptNear, limited, MIN_SPAN_MS, padded, panned, requestSpan, widthOf, zoomed } from '@/time/span'

describe('zoomed', () => {
  it('keeps the moment under the cursor in its place', () => {
    expect(zoomed({ from: 0, to: 10_000 }, 0.5, 2500)).toEqual({ from: 1250, to: 6250 })
  })

  it('stops at the narrowest span', () => {
    expect(widthOf(zoomed({ from: 0, to: 300 }, 0.01, 100))).toBe(MIN_SPAN_MS)
  })
})

describe('panned', () => {
  it('moves by a share of the width', () => {
    expect(panned({ from: 1000, to: 2000 }, -0.5)).toEqual({ from: 500, to: 1500 })
  })
})

describe('limited', () => {
  it('turns a backward brush around', () => {
    expect(limited({ from: 5000, to: 1000 })).toEqual({ from: 1000, to: 5000 })
  })

  it('widens around the middle', () => {
    expect(limited({ from: 1000, to: 1000 })).toEqual({ from: 1000 - MIN_SPAN_MS / 2, to: 1000 + MIN_SPAN_MS / 2 })
  })
})

describe('keptNear', () => {
  const bounds = { from: 0, to: 10_000 }

  it('leaves a span over the data alone', () => {
    expect(keptNear({ from: 2000, to: 3000 }, bounds)).toEqual({ from: 2000, to: 3000 })
  })

  it('brings a span back that left the data on either side', () => {
    expect(keptNear({ from: 20_000, to: 21_000 }, bounds)).toEqual({ from: 9900, to: 10_900 })
    expect(keptNear({ from: -5000, to: -4000 }, bounds)).toEqual({ from: -900, to: 100 })
  })
})

describe('requestSpan', () => {
  it('covers the visible span with room on both sides', () => {
    const asked = requestSpan({ from: 1_000_100, to: 1_060_100 })
    expect(asked.from).toBeLessThanOrEqual(1_000_100)
    expect(asked.to).toBeGreaterThanOrEqual(1_060_100)
    expect(widthOf(asked)).toBeLessThan(60_000 * 3)
  })

  it('is the same for a small pan, so that nothing is asked again', () => {
    expect(requestSpan({ from: 1_000_100, to: 1_060_100 })).toEqual(requestSpan({ from: 1_000_300, to: 1_060_300 }))
  })
})

describe('initialSpan', () => {
  it('shows a short recording whole', () => {
    expect(initialSpan({ from: 0, to: 25_000 })).toEqual({ from: 0, to: 25_000 })
  })

  it('shows the end of long data', () => {
    expect(initialSpan({ from: 0, to: 3_600_000 })).toEqual({ from: 3_540_000, to: 3_600_000 })
  })
})

it('clips to the bounds', () => {
  expect(clipped({ from: -5, to: 50 }, { from: 0, to: 20 })).toEqual({ from: 0, to: 20 })
  expect(clipped({ from: 30, to: 50 }, { from: 0, to: 20 })).toEqual({ from: 20, to: 20 })
})

it('pads a short gap by at least half the narrowest span', () => {
  expect(padded({ from: 1000, to: 1100 }, 0.5)).toEqual({ from: 900, to: 1200 })
})
