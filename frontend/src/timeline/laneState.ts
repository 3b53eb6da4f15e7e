/** What there is to say of a lane besides its curves: why it is empty, or why what it shows is not all. */

import type { Track } from '@/series/track'
import { commonHoles, hasValues } from '@/series/track'
import type { Span } from '@/time/span'
import { clipped, widthOf } from '@/time/span'

export type LaneState =
  /** Nothing to show: it is on its way, could not be read, was not measured (for `reasons`), or there is none. */
  | { kind: 'loading' | 'empty' }
  | { kind: 'error'; error: string }
  | { kind: 'missing'; reasons: string[] }
  /** Something is shown: what could not be renewed, what has come to an end, what lacks a part, all there is. */
  | { kind: 'outdated'; error: string }
  | { kind: 'stale'; since: number }
  | { kind: 'partial'; share: number; reasons: string[] }
  | { kind: 'whole' }

/** Whether the lane shows any values. */
export function isShown({ kind }: LaneState): boolean {
  return kind === 'outdated' || kind === 'stale' || kind === 'partial' || kind === 'whole'
}

export interface LaneFacts {
  tracks: readonly Track[]
  /** What is visible, and from the first to the newest data of the host. */
  span: Span
  known: Span
  loading: boolean
  error: string | null
  /** The host sends nothing any more. */
  isStale: boolean
  /** No value says something itself. */
  absenceIsData: boolean
}

/** Less than this share of the visible time is no news. */
const LEAST_SHARE = 0.005
const MAX_REASONS = 2

/** Reasons of the store for what is missing in some spans, those of the longest time first. */
function reasonsIn(tracks: readonly Track[], spans: readonly Span[]): string[] {
  const times = new Map<string, number>()
  for (const track of tracks) {
    for (const hole of track.missing) {
      const there = spans.reduce((sum, span) => sum + Math.max(0, Math.min(span.to, hole.to_ms) - Math.max(span.from, hole.from_ms)), 0)
      if (there > 0) times.set(hole.reason, (times.get(hole.reason) ?? 0) + there)
    }
  }
  return [...times].sort((a, b) => b[1] - a[1]).slice(0, MAX_REASONS).map(([reason]) => reason)
}

export function laneState({ tracks, span, known, loading, error, isStale, absenceIsData }: LaneFacts): LaneState {
  const measured = clipped(span, known)
  if (!tracks.some((track) => hasValues(track, span))) {
    if (error !== null) return { kind: 'error', error }
    const reasons = reasonsIn(tracks, [span])
    if (reasons.length) return { kind: 'missing', reasons }
    return { kind: loading ? 'loading' : 'empty' }
  }
  if (error !== null) return { kind: 'outdated', error }
  const holes = absenceIsData || widthOf(measured) <= 0 ? [] : commonHoles(tracks, measured)
  const share = holes.reduce((sum, hole) => sum + widthOf(hole), 0) / Math.max(1, widthOf(measured))
  if (share >= LEAST_SHARE) return { kind: 'partial', share, reasons: reasonsIn(tracks, holes) }
  return isStale && span.to - known.to > widthOf(span) * LEAST_SHARE ? { kind: 'stale', since: known.to } : { kind: 'whole' }
}
