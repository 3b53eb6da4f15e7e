import { describe, expect, it } from 'vitest'
import type { SeriesData } from '@/api/schema'
import { Ring } from '@/live/ring'
import type { Track } from '@/series/track'
import { commonHoles, composeTrack as composed, holes, loadOver, meanOver, reasonAt, valueAt } from '@/series/track'

function stored(time: number[], mean: (number | null)[], more: Partial<SeriesData> = {}): SeriesData {
  return { entity: 'gpu:a', metric: 'm', unit: 'ratio', time_ms: time, mean, min: mean, max: mean, idle_share: null, missing: [], ...more }
}

function composeTrack(data: SeriesData | null, ring: Ring | null, bucketMs: number | null, threshold: number | null, tail: SeriesData | null = null): Track {
  return composed({ stored: data, answered: { from: -1e9, to: 1e9 }, bucketMs, tail, live: ring?.since(Number.NEGATIVE_INFINITY) ?? null, threshold })
}

function ringOf(...times: number[]): Ring {
  const ring = new Ring(64)
  for (const time of times) ring.push(time, 1)
  return ring
}

describe('composeTrack', () => {
  it('breaks the line where samples are missing from the times', () => {
    const track = composeTrack(stored([0, 100, 200, 1000, 1100], [1, 1, 1, 1, 1]), null, null, null)
    expect(track.time).toEqual([0, 100, 200, 300, 1000, 1100])
    expect(track.mean).toEqual([1, 1, 1, null, 1, 1])
  })

  it('goes on with live samples that are newer than the stored ones', () => {
    const ring = new Ring(8)
    ring.push(100, 9)
    ring.push(200, 9)
    ring.push(300, 0.05)
    const track = composeTrack(stored([0, 100, 200], [0.5, 0.5, 0.5]), ring, null, 0.1)
    expect(track.time).toEqual([0, 100, 200, 300])
    expect(track.idle).toEqual([0, 0, 0, 1])
  })

  it('takes live samples only after the last bucket has ended', () => {
    const ring = new Ring(8)
    ring.push(1500, 9)
    ring.push(2100, 9)
    expect(composeTrack(stored([0, 1000], [1, 1]), ring, 1000, null).time).toEqual([0, 1000, 2100])
  })

  it('lets live samples take the place of buckets that reach beyond what is stored', () => {
    const track = composeTrack(stored([0, 1000, 2000, 3000], [1, 1, null, null]), ringOf(2100, 2200), 1000, null)
    expect(track.time).toEqual([0, 1000, 2100, 2200])
    expect(holes(track, { from: 0, to: 2300 })).toEqual([])
  })

  it('does not call missing what is on its way to the store', () => {
    const data = stored([0, 100, 200], [1, 1, 1])
    const track = composeTrack(data, ringOf(3000, 3100), null, null)
    expect(track.arriving).toEqual({ from: 200, to: 3000 })
    expect(holes(track, { from: 0, to: 3200 })).toEqual([])
    const bridged = composeTrack(data, ringOf(700, 800), null, null, stored([100, 200, 300, 400, 500, 600], [1, 1, 1, 1, 1, 1]))
    expect(bridged.time).toEqual([0, 100, 200, 300, 400, 500, 600, 700, 800])
    expect(bridged.arriving).toBeNull()
  })

  it('calls nothing missing that nobody has asked about', () => {
    const parts = { bucketMs: null, tail: null, threshold: null }
    const asked = composed({ ...parts, stored: stored([1000, 1100], [1, 1]), answered: { from: 500, to: 2000 }, live: null })
    expect(holes(asked, { from: 0, to: 5000 })).toEqual([{ from: 500, to: 1000 }, { from: 1200, to: 2000 }])
    const live = composed({ ...parts, stored: null, answered: null, live: ringOf(1000, 1100).since(0) })
    expect(holes(live, { from: 0, to: 1200 })).toEqual([])
  })

  it('calls a hole between live samples one', () => {
    const track = composeTrack(stored([0, 100, 200], [1, 1, 1]), ringOf(100, 200, 300, 3000, 3100), null, null)
    expect(track.arriving).toBeNull()
    expect(holes(track, { from: 0, to: 3200 })).toEqual([{ from: 400, to: 3000 }])
  })

  it('prefers the idle share of the server', () => {
    const track = composeTrack(stored([0, 1000], [0.5, 0.5], { idle_share: [0.4, null] }), null, 1000, 0.1)
    expect(track.idle).toEqual([0.4, 0])
  })
})

describe('values', () => {
  const track = composeTrack(
    stored([0, 100, 200, 1000], [1, null, 3, 4], { missing: [{ from_ms: 100, to_ms: 200, reason: 'no sample' }] }), null, null, null,
  )

  it('are those that stand at the moment, and null in a hole', () => {
    expect(valueAt(track, 50)).toBe(1)
    expect(valueAt(track, 150)).toBeNull()
    expect(valueAt(track, 600)).toBeNull()
    expect(valueAt(track, -1)).toBeNull()
    expect(valueAt(track, 9000)).toBeNull()
  })

  it('average over a span without the missing ones', () => {
    expect(meanOver(track, { from: 0, to: 300 })).toBe(2)
    expect(meanOver(track, { from: 300, to: 900 })).toBeNull()
  })

  it('carry the reason of what is missing', () => {
    expect(reasonAt(track, 150)).toBe('no sample')
    expect(reasonAt(track, 250)).toBeNull()
  })
})

it('counts a short run little', () => {
  const shortly = composeTrack(stored([0, 100], [4, 4]), null, null, null)
  expect(loadOver(shortly, { from: 0, to: 1000 })).toBeCloseTo(0.8)
})

it('sees a hole only where every track has one', () => {
  const early = composeTrack(stored([0, 100, 200], [1, 1, 1]), null, null, null)
  const late = composeTrack(stored([1000, 1100, 1200], [1, 1, 1]), null, null, null)
  expect(commonHoles([early, late], { from: 0, to: 2000 })).toEqual([{ from: 300, to: 1000 }, { from: 1300, to: 2000 }])
  expect(commonHoles([], { from: 0, to: 2000 })).toEqual([])
})

it('finds holes before, between and after the samples', () => {
  const track = composeTrack(stored([1000, 1100, 1200, 3000, 3100], [1, 1, 1, 1, 1]), null, null, null)
  expect(holes(track, { from: 0, to: 5000 })).toEqual([
    { from: 0, to: 1000 },
    { from: 1300, to: 3000 },
    { from: 3200, to: 5000 },
  ])
})
