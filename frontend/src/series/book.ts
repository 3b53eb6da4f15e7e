/**
 * All series of one host that the page holds: the newest answers and the rings of live samples. Outside Vue's
 * reactivity; `version` counts changes, and that is what the drawing watches.
 */

import { shallowRef } from 'vue'
import type { LiveFrame, SeriesAnswer, SeriesData } from '@/api/schema'
import { Ring } from '@/live/ring'
import type { Track } from '@/series/track'
import { composeTrack } from '@/series/track'

interface Stored {
  data: SeriesData
  bucketMs: number | null
}

/** Below this graphics active counts as a gap until the server tells its own threshold. */
const DEFAULT_THRESHOLD = 0.1

export class SeriesBook {
  readonly version = shallowRef(0)
  threshold = DEFAULT_THRESHOLD
  private readonly stored = new Map<string, Stored>()
  private readonly rings = new Map<string, Ring>()
  private readonly tracks = new Map<string, Track>()
  private newestFrame: number | null = null

  /** Time of the newest live frame. */
  get lastFrameTime(): number | null {
    return this.newestFrame
  }

  /** Takes an answer in; series of the same entity and metric are replaced. */
  take(answer: SeriesAnswer): void {
    for (const data of answer.series) {
      this.stored.set(keyOf(data.entity, data.metric), { data, bucketMs: answer.raw ? null : answer.bucket_ms })
    }
    this.changed()
  }

  /** Appends a live frame. `wanted` names the metrics that some lane shows. */
  append(frame: LiveFrame, wanted: ReadonlySet<string>): void {
    for (const [entity, values] of Object.entries(frame.values)) {
      for (const [metric, value] of Object.entries(values)) {
        if (!wanted.has(metric)) continue
        this.ringOf(keyOf(entity, metric)).push(frame.time_ms, value)
      }
    }
    this.newestFrame = Math.max(this.newestFrame ?? frame.time_ms, frame.time_ms)
    this.changed()
  }

  has(entity: string, metric: string): boolean {
    const key = keyOf(entity, metric)
    return this.stored.has(key) || this.rings.has(key)
  }

  /** Entities with data of a metric. */
  entitiesOf(metric: string): string[] {
    const ending = `|${metric}`
    const keys = new Set([...this.stored.keys(), ...this.rings.keys()])
    return [...keys].filter((key) => key.endsWith(ending)).map((key) => key.slice(0, -ending.length))
  }

  track(entity: string, metric: string): Track {
    const key = keyOf(entity, metric)
    const known = this.tracks.get(key)
    if (known) return known
    const stored = this.stored.get(key)
    const threshold = metric === 'gpu_graphics_active_ratio' ? this.threshold : null
    const track = composeTrack(stored?.data ?? null, this.rings.get(key) ?? null, stored?.bucketMs ?? null, threshold)
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

  private changed(): void {
    this.tracks.clear()
    this.version.value += 1
  }
}

function keyOf(entity: string, metric: string): string {
  return `${entity}|${metric}`
}
