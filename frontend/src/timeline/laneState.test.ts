import { expect, it } from 'vitest'
import type { MissingSpan } from '@/api/schema'
import type { Track } from '@/series/track'
import { composeTrack, emptyTrack } from '@/series/track'
import type { LaneFacts } from '@/timeline/laneState'
import { isShown, laneState } from '@/timeline/laneState'

const SPAN = { from: 0, to: 10_000 }

/** Samples each 100 ms, none where `hole` is. */
function track(hole: [number, number] | null, missing: MissingSpan[] = [], until = 10_000): Track {
  const time = Array.from({ length: until / 100 }, (_, i) => i * 100).filter((at) => !hole || at < hole[0] || at >= hole[1])
  const mean = time.map(() => 1)
  const data = { entity: 'e', metric: 'm', unit: '', time_ms: time, mean, min: mean, max: mean, idle_share: null, missing }
  return composeTrack({ stored: data, answered: SPAN, bucketMs: null, tail: null, live: null, threshold: null })
}

function state(more: Partial<LaneFacts>) {
  return laneState({ tracks: [track(null)], span: SPAN, known: SPAN, loading: false, error: null, isStale: false, absenceIsData: false, ...more })
}
const nothing = [emptyTrack()]
const reason = (from: number, to: number, text: string): MissingSpan => ({ from_ms: from, to_ms: to, reason: text })

it('says nothing of a lane that has all its values', () => {
  expect(state({})).toEqual({ kind: 'whole' })
  expect([isShown(state({})), isShown(state({ tracks: nothing }))]).toEqual([true, false])
})

it('tells loading, empty, failed and not measured apart', () => {
  expect(state({ tracks: nothing, loading: true })).toEqual({ kind: 'loading' })
  expect(state({ tracks: nothing })).toEqual({ kind: 'empty' })
  expect(state({ tracks: nothing, loading: true, error: 'the disk is full' })).toEqual({ kind: 'error', error: 'the disk is full' })
  const unsupported = { ...emptyTrack(), answered: SPAN, missing: [reason(0, 10_000, 'not_supported')] }
  expect(state({ tracks: [unsupported] })).toEqual({ kind: 'missing', reasons: ['not_supported'] })
})

it('minds what is visible, not what lies beside it', () => {
  expect(state({ span: { from: 20_000, to: 30_000 }, known: { from: 0, to: 40_000 } })).toEqual({ kind: 'empty' })
})

it('keeps what it has where it could not be renewed', () => {
  expect(state({ error: 'the disk is full' })).toEqual({ kind: 'outdated', error: 'the disk is full' })
})

it('tells how much is missing, and the reasons that cost most', () => {
  const partial = track([2000, 6000], [reason(2000, 3000, 'a'), reason(3000, 5000, 'b'), reason(5000, 5500, 'c'), reason(9000, 9900, 'elsewhere')])
  expect(state({ tracks: [partial] })).toEqual({ kind: 'partial', share: 0.4, reasons: ['b', 'a'] })
  expect(state({ tracks: [partial], absenceIsData: true })).toEqual({ kind: 'whole' })
  expect(state({ tracks: [partial, track(null)] })).toEqual({ kind: 'whole' })
})

it('tells since when a host is silent, only where that is visible', () => {
  const silent = { tracks: [track(null, [], 5000)], known: { from: 0, to: 5000 }, isStale: true }
  expect(state(silent)).toEqual({ kind: 'stale', since: 5000 })
  expect(state({ ...silent, isStale: false })).toEqual({ kind: 'whole' })
  expect(state({ ...silent, span: { from: 0, to: 5000 } })).toEqual({ kind: 'whole' })
})
