import { expect, it } from 'vitest'
import type { Track } from '@/series/track'
import { emptyTrack } from '@/series/track'
import { heatGrid } from '@/timeline/heat'

function track(stepMs: number, mean: (number | null)[]): Track {
  return { ...emptyTrack(), stepMs, time: mean.map((_, i) => i * stepMs), mean }
}

it('has a column a sample, and no value where there is none', () => {
  const grid = heatGrid([track(100, [0.5, null, 1])], { from: 0, to: 300 }, 3)
  expect([grid.columns, grid.rows]).toEqual([3, 1])
  expect([...grid.values]).toEqual([0.5, Number.NaN, 1])
})

it('shows the edges of wide buckets where they are', () => {
  const grid = heatGrid([track(10_000, [0, 1])], { from: 4000, to: 14_000 }, 100)
  expect(grid.columns).toBe(100)
  expect([...grid.values].indexOf(1)).toBe(60)
})
