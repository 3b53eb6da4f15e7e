/**
 * One series ready to draw: stored samples or buckets, then what was fetched to close the way to the live samples, then
 * these, with nulls where the line must break. Times ascend.
 */

import type { MissingSpan, SeriesData } from '@/api/schema'
import type { LiveSamples } from '@/live/ring'
import type { Span } from '@/time/span'
import { clipped } from '@/time/span'

export type Values = (number | null)[]

export interface Track {
  time: number[]
  mean: Values
  min: Values
  max: Values
  /** Share of each bucket below the gap threshold; null where unknown. */
  idle: Values
  /** Usual distance between two samples in ms; a sample stands for the time up to the next one or this. */
  stepMs: number
  /** Up to here the samples stand; only newer ones may follow. */
  coveredTo: number
  /** Whether minimum and maximum differ from the mean anywhere: buckets, not samples. */
  banded: boolean
  /** The span that the store was asked about; outside of it nothing is known to be missing. Null before any answer. */
  answered: Span | null
  /** Between what is stored and the first live sample: on its way to the store, so not missing. */
  arriving: Span | null
  missing: readonly MissingSpan[]
}

/** A distance of more than this many steps between two samples is a hole. */
const HOLE_STEPS = 3
const DEFAULT_STEP_MS = 100

export function emptyTrack(): Track {
  return { time: [], mean: [], min: [], max: [], idle: [], stepMs: DEFAULT_STEP_MS, coveredTo: Number.NEGATIVE_INFINITY, banded: false, answered: null, arriving: null, missing: [] }
}

/** The median distance of the times; robust against holes. */
export function medianStep(time: readonly number[]): number {
  if (time.length < 2) return DEFAULT_STEP_MS
  const steps = time.slice(1).map((value, i) => value - (time[i] as number))
  steps.sort((a, b) => a - b)
  return steps[steps.length >> 1] || DEFAULT_STEP_MS
}

function append(track: Track, time: number, mean: number | null, min: number | null, max: number | null, idle: number | null): void {
  const last = track.time.at(-1)
  if (last !== undefined && time - last > HOLE_STEPS * track.stepMs) {
    track.time.push(last + track.stepMs)
    track.mean.push(null)
    track.min.push(null)
    track.max.push(null)
    track.idle.push(null)
  }
  track.time.push(time)
  track.mean.push(mean)
  track.min.push(min)
  track.max.push(max)
  track.idle.push(idle)
}

/** What a track is made of. `tail` are stored samples newer than `stored`, as far as the live ones. */
export interface TrackParts {
  stored: SeriesData | null
  answered: Span | null
  bucketMs: number | null
  tail: SeriesData | null
  live: LiveSamples | null
  /** The ratio below which a live sample counts as idle; null for series that know no idleness. */
  threshold: number | null
}

export function composeTrack({ stored, answered, bucketMs, tail, live, threshold }: TrackParts): Track {
  const track = { ...emptyTrack(), answered }
  if (stored) appendStored(track, stored, bucketMs, threshold)
  tail?.time_ms.forEach((time, i) => extendTrack(track, time, tail.mean[i] ?? null, threshold))
  if (!live) return track
  if (live.oldest - track.coveredTo > HOLE_STEPS * track.stepMs && Number.isFinite(live.oldest) && Number.isFinite(track.coveredTo)) {
    // What began within what is stored has a hole of its own: frames were lost, and the store may know more.
    track.arriving = { from: track.coveredTo, to: live.oldest }
  }
  live.times.forEach((time, i) => {
    const value = live.values[i] as number
    extendTrack(track, time, Number.isNaN(value) ? null : value, threshold)
  })
  return track
}

/** Buckets without a value at the end reach beyond what is stored so far: live samples take their place. */
function appendStored(track: Track, stored: SeriesData, bucketMs: number | null, threshold: number | null): void {
  track.stepMs = bucketMs ?? medianStep(stored.time_ms)
  track.banded = bucketMs !== null
  track.missing = stored.missing
  let end = stored.time_ms.length
  while (bucketMs !== null && end > 0 && (stored.mean[end - 1] ?? null) === null) end -= 1
  for (let i = 0; i < end; i += 1) {
    const mean = stored.mean[i] ?? null
    const idle = stored.idle_share?.[i] ?? idleOf(mean, threshold)
    append(track, stored.time_ms[i] as number, mean, stored.min[i] ?? null, stored.max[i] ?? null, idle)
  }
  if (end > 0) track.coveredTo = (stored.time_ms[end - 1] as number) + (bucketMs ?? 0)
}

/** Adds a live sample at the end; one that is not newer than what stands is left out. */
export function extendTrack(track: Track, time: number, value: number | null, threshold: number | null): void {
  if (time <= track.coveredTo) return
  append(track, time, value, value, value, idleOf(value, threshold))
  track.coveredTo = time
}

function idleOf(value: number | null, threshold: number | null): number | null {
  if (value === null || threshold === null) return null
  return value < threshold ? 1 : 0
}

/** Index of the last sample at or before `time`; -1 when there is none. */
export function indexAt(time: readonly number[], at: number): number {
  let low = 0
  let high = time.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((time[middle] as number) <= at) low = middle + 1
    else high = middle
  }
  return low - 1
}

/** The value that stands at a moment; null in a hole, before the first sample and well after the last. */
export function valueAt(track: Track, at: number): number | null {
  const index = indexAt(track.time, at)
  if (index < 0 || at - (track.time[index] as number) > HOLE_STEPS * track.stepMs) return null
  return track.mean[index] ?? null
}

/** Whether there is any value in a span. */
export function hasValues(track: Track, span: Span): boolean {
  for (let i = Math.max(0, indexAt(track.time, span.from)); i < track.time.length; i += 1) {
    const time = track.time[i] as number
    if (time >= span.to) break
    if ((track.mean[i] ?? null) !== null && time + track.stepMs > span.from) return true
  }
  return false
}

/** Mean over a span, each sample weighing the same, a bucket by the part of it in the span; null without samples. */
export function meanOver(track: Track, span: Span): number | null {
  let sum = 0
  let count = 0
  for (let i = Math.max(0, indexAt(track.time, span.from)); i < track.time.length; i += 1) {
    const time = track.time[i] as number
    if (time >= span.to) break
    const value = track.mean[i]
    const weight = track.banded ? Math.min(span.to, time + track.stepMs) - Math.max(span.from, time) : Number(time >= span.from)
    if (weight > 0 && value !== null && value !== undefined) {
      sum += value * weight
      count += weight
    }
  }
  return count ? sum / count : null
}

/** Share of a span's time times the value: a process that ran shortly at full speed counts little. */
export function loadOver(track: Track, span: Span): number {
  let sum = 0
  for (let i = Math.max(0, indexAt(track.time, span.from)); i < track.time.length; i += 1) {
    const time = track.time[i] as number
    if (time >= span.to) break
    if (time >= span.from) sum += (track.mean[i] ?? 0) * track.stepMs
  }
  return sum / Math.max(1, span.to - span.from)
}

/** The reason why there is no value at a moment, where the store knows one. */
export function reasonAt(track: Track, at: number): string | null {
  return track.missing.find((span) => at >= span.from_ms && at < span.to_ms)?.reason ?? null
}

/** Stretches of the span without values: before, between and after the samples; what is arriving is none. */
export function holes(track: Track, span: Span): Span[] {
  const found = allHoles(track, askedPart(track, span))
  const { arriving } = track
  return arriving ? found.filter((hole) => hole.to <= arriving.from || hole.from >= arriving.to) : found
}

/** The part of a span that the store or the live feed has told of. */
function askedPart(track: Track, span: Span): Span {
  const first = track.time[0] ?? Number.POSITIVE_INFINITY
  const last = track.time.at(-1) ?? Number.NEGATIVE_INFINITY
  const { from, to } = track.answered ?? { from: first, to: first }
  return clipped(span, { from: Math.min(from, first), to: last > to ? Number.POSITIVE_INFINITY : to })
}

function allHoles(track: Track, span: Span): Span[] {
  const out: Span[] = []
  let covered = span.from
  for (let i = Math.max(0, indexAt(track.time, span.from)); i < track.time.length; i += 1) {
    const time = track.time[i] as number
    if (time >= span.to) break
    if (track.mean[i] === null) continue
    if (time - covered > HOLE_STEPS * track.stepMs) out.push({ from: covered, to: time })
    covered = Math.max(covered, time + track.stepMs)
  }
  if (span.to - covered > HOLE_STEPS * track.stepMs) out.push({ from: covered, to: span.to })
  return out
}

/** Stretches of the span in which none of the tracks that are there has a value. */
export function commonHoles(all: readonly Track[], span: Span): Span[] {
  const tracks = all.filter((track) => track.time.length)
  let out: Span[] = [span]
  for (const track of tracks) {
    const own = holes(track, span)
    out = out.flatMap((a) =>
      own
        .map((b) => ({ from: Math.max(a.from, b.from), to: Math.min(a.to, b.to) }))
        .filter((part) => part.to > part.from),
    )
  }
  return tracks.length ? out : []
}
