/**
 * All series of one host that the page holds: the newest answers and the rings of live samples. Outside Vue's
 * reactivity; `version` counts changes, and that is what the drawing watches.
 */

import { shallowRef } from 'vue'
import type { LiveFrame, SeriesAnswer, SeriesData } from '@/api/schema'
import { Ring } from '@/live/ring'
import type { Span } from '@/time/span'
import type { Track } from '@/series/track'
import { composeTrack, extendTrack } from '@/series/track'

interface Stored {
  data: SeriesData
  answered: Span | null
  bucketMs: number | null
}

/** Below this graphics active counts as a gap until the server tells its own threshold. */
const DEFAULT_THRESHOLD = 0.1
/** A track that grew beyond this is made anew from its ring, so that a tab left open for days keeps its size. */
const MAX_TRACK_SAMPLES = 12_000

export class SeriesBook {
  readonly version = shallowRef(0)
  threshold = DEFAULT_THRESHOLD
  private readonly stored = new Map<string, Stored>()
  private readonly tails = new Map<string, SeriesData>()
  private readonly rings = new Map<string, Ring>()
  private readonly tracks = new Map<string, Track>()

  /** Takes an answer in; series of the same entity and metric are replaced. */
  take(answer: SeriesAnswer): void {
    const answered = spanOf(answer)
    for (const data of answer.series) {
      const key = keyOf(data.entity, data.metric)
      this.stored.set(key, { data, answered, bucketMs: answer.raw ? null : answer.bucket_ms })
      this.tracks.delete(key)
    }
    this.version.value += 1
  }

  /** Takes stored samples that lie between the last answer and the first live frame. */
  bridge(answer: SeriesAnswer): void {
    if (!answer.raw) return
    for (const data of answer.series) {
      const key = keyOf(data.entity, data.metric)
      this.tails.set(key, data)
      this.tracks.delete(key)
    }
    this.version.value += 1
  }

  /** Appends a live frame. `wanted` names the metrics that some lane shows. */
  append(frame: LiveFrame, wanted: ReadonlySet<string>): void {
    for (const [entity, values] of Object.entries(frame.values)) {
      for (const [metric, value] of Object.entries(values)) {
        if (!wanted.has(metric)) continue
        this.push(keyOf(entity, metric), metric, frame.time_ms, value)
      }
    }
    this.version.value += 1
  }

  track(entity: string, metric: string): Track {
    const key = keyOf(entity, metric)
    const known = this.tracks.get(key)
    if (known) return known
    const stored = this.stored.get(key)
    const ring = this.rings.get(key) ?? null
    const track = composeTrack({
      stored: stored?.data ?? null,
      answered: stored?.answered ?? null,
      bucketMs: stored?.bucketMs ?? null,
      tail: this.tails.get(key) ?? null,
      ring,
      threshold: this.thresholdOf(metric),
    })
    this.tracks.set(key, track)
    return track
  }

  private ringOf(key: string): Ring {
    let ring = this.rings.get(key)
    if (!ring) {
      ring = new Ring()
      this.rings.set(key, ring)
    }
    return ring
  }

  private push(key: string, metric: string, time: number, value: number | null): void {
    if (!this.ringOf(key).push(time, value)) return
    const track = this.tracks.get(key)
    if (!track) return
    if (track.time.length > MAX_TRACK_SAMPLES) this.tracks.delete(key)
    else extendTrack(track, time, value, this.thresholdOf(metric))
  }

  private thresholdOf(metric: string): number | null {
    return metric === 'gpu_graphics_active_ratio' ? this.threshold : null
  }
}

function spanOf(answer: SeriesAnswer): Span | null {
  const span = { from: Date.parse(answer.start), to: Date.parse(answer.end) }
  return span.from < span.to ? span : null
}

function keyOf(entity: string, metric: string): string {
  return `${entity}|${metric}`
}
