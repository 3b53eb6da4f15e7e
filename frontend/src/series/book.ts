/**
 * All series of one host that the page holds: the newest answers, and the live samples after them. Outside Vue's
 * reactivity; `version` counts changes, and that is what the drawing watches. The rings of live samples are kept
 * elsewhere: where an answer takes the place of another, those newer than it are asked for, and until they are there
 * the track stands as it was.
 */

import { shallowRef } from 'vue'
import type { SeriesAnswer, SeriesData } from '@/api/schema'
import type { LiveColumns, LiveSeries } from '@/live/keeper'
import { keyOf } from '@/live/keeper'
import type { LiveSamples } from '@/live/ring'
import type { Span } from '@/time/span'
import type { Track } from '@/series/track'
import { composeTrack, extendTrack } from '@/series/track'

interface Stored {
  data: SeriesData
  answered: Span | null
  bucketMs: number | null
}

/** Who keeps the live samples; `receive` takes what is asked for. */
export interface LiveSource {
  /** For the samples of each series that are later than its own time in `since`. */
  ask(keys: readonly string[], since: Float64Array): void
}

/** Below this graphics active counts as a gap until the server tells its own threshold. */
const DEFAULT_THRESHOLD = 0.1
/** A track that grew beyond this is made anew from its ring, so that a tab left open for days keeps its size. */
const MAX_TRACK_SAMPLES = 12_000

export class SeriesBook {
  readonly version = shallowRef(0)
  threshold = DEFAULT_THRESHOLD
  /** Null where no live samples are kept. */
  source: LiveSource | null = null
  private readonly stored = new Map<string, Stored>()
  private readonly tails = new Map<string, SeriesData>()
  private readonly tracks = new Map<string, Track>()

  /** Takes an answer in; series of the same entity and metric are replaced. */
  take(answer: SeriesAnswer): void {
    const answered = spanOf(answer)
    const keys = answer.series.map((data) => {
      const key = keyOf(data.entity, data.metric)
      this.stored.set(key, { data, answered, bucketMs: answer.raw ? null : answer.bucket_ms })
      return key
    })
    this.renew(keys)
  }

  /** Takes stored samples that lie between the last answer and the first live frame. */
  bridge(answer: SeriesAnswer): void {
    if (!answer.raw) return
    const keys = answer.series.map((data) => {
      const key = keyOf(data.entity, data.metric)
      this.tails.set(key, data)
      return key
    })
    this.renew(keys)
  }

  /** Appends a live frame. */
  append({ time, keys, values }: LiveColumns): void {
    const long: string[] = []
    keys.forEach((key, i) => {
      const value = values[i] as number
      const track = this.trackOf(key)
      extendTrack(track, time, Number.isNaN(value) ? null : value, this.thresholdOf(key))
      if (track.time.length > MAX_TRACK_SAMPLES) long.push(key)
    })
    this.version.value += 1
    if (long.length) this.renew(long)
  }

  /** Live samples that were asked for. */
  receive(series: readonly LiveSeries[]): void {
    for (const { key, samples } of series) this.tracks.set(key, this.compose(key, samples))
    this.version.value += 1
  }

  track(entity: string, metric: string): Track {
    return this.trackOf(keyOf(entity, metric))
  }

  private trackOf(key: string): Track {
    let track = this.tracks.get(key)
    if (!track) this.tracks.set(key, (track = this.compose(key, null)))
    return track
  }

  private renew(keys: readonly string[]): void {
    const since = new Float64Array(keys.length)
    keys.forEach((key, i) => {
      const fresh = this.compose(key, null)
      since[i] = fresh.coveredTo
      if (!this.source || !this.tracks.has(key)) this.tracks.set(key, fresh)
    })
    if (keys.length) this.source?.ask(keys, since)
    this.version.value += 1
  }

  private compose(key: string, live: LiveSamples | null): Track {
    const stored = this.stored.get(key)
    return composeTrack({
      stored: stored?.data ?? null,
      answered: stored?.answered ?? null,
      bucketMs: stored?.bucketMs ?? null,
      tail: this.tails.get(key) ?? null,
      live,
      threshold: this.thresholdOf(key),
    })
  }

  private thresholdOf(key: string): number | null {
    return key.endsWith('|gpu_graphics_active_ratio') ? this.threshold : null
  }
}

function spanOf(answer: SeriesAnswer): Span | null {
  const span = { from: Date.parse(answer.start), to: Date.parse(answer.end) }
  return span.from < span.to ? span : null
}
