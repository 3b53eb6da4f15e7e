/** The top of a lane's scale. */

import type { Track } from '@/series/track'
import { indexAt } from '@/series/track'
import type { Span } from '@/time/span'

const STEPS = [1, 1.2, 1.5, 2, 3, 4, 5, 6, 8, 10]

/** The next round number at or above a value. */
export function roundUp(value: number): number {
  if (value <= 0) return 1
  const size = 10 ** Math.floor(Math.log10(value))
  return (STEPS.find((step) => step * size >= value * 0.999) ?? 10) * size
}

/** The largest value of some tracks within a span; 0 without values. */
export function largest(tracks: readonly Track[], span: Span): number {
  let top = 0
  for (const track of tracks) {
    for (let i = Math.max(0, indexAt(track.time, span.from)); i < track.time.length; i += 1) {
      if ((track.time[i] as number) >= span.to) break
      top = Math.max(top, track.max[i] ?? 0)
    }
  }
  return top
}
