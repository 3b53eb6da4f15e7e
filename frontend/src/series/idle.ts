/** Runs of idleness in a track, for the hatch under the line. */

import type { Track } from '@/series/track'
import { indexAt } from '@/series/track'
import type { Span } from '@/time/span'

export interface IdleRun extends Span {
  /** Mean idle share of the run, 0..1. */
  share: number
}

/** Shares are drawn in this many strengths, so that neighbours of like share join to one run. */
const LEVELS = 4

/** Runs with some idle share within the span, neighbours of the same strength joined. */
export function idleRuns(track: Track, span: Span): IdleRun[] {
  const runs: IdleRun[] = []
  for (let i = Math.max(0, indexAt(track.time, span.from)); i < track.time.length; i += 1) {
    const from = track.time[i] as number
    if (from >= span.to) break
    const share = track.idle[i]
    if (!share) continue
    const next = track.time[i + 1]
    const to = Math.min(next ?? Number.POSITIVE_INFINITY, from + track.stepMs * 1.5)
    const level = Math.ceil(share * LEVELS) / LEVELS
    const last = runs.at(-1)
    if (last && last.share === level && from - last.to < track.stepMs) last.to = to
    else runs.push({ from, to, share: level })
  }
  return runs
}
