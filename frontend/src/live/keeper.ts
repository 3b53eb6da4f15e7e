/** What the worker keeps of a host's frames: a ring a series, of those series that some lane shows. */

import type { LiveFrame } from '@/api/schema'
import type { LiveSamples } from '@/live/ring'
import { Ring } from '@/live/ring'

/** A frame as columns; NaN for "no value". */
export interface LiveColumns {
  time: number
  keys: readonly string[]
  values: Float64Array<ArrayBuffer>
}

export interface LiveSeries {
  key: string
  samples: LiveSamples
}

export function keyOf(entity: string, metric: string): string {
  return `${entity}|${metric}`
}

export class LiveKeeper {
  private readonly rings = new Map<string, Ring>()

  /** `wanted` names the metrics that are kept. */
  constructor(private readonly wanted: ReadonlySet<string>) {}

  /** Keeps a frame; null where nothing of it is wanted or it is no newer than the last. */
  take(frame: LiveFrame): LiveColumns | null {
    const keys: string[] = []
    const values: number[] = []
    for (const [entity, told] of Object.entries(frame.values)) {
      for (const [metric, value] of Object.entries(told)) {
        if (!this.wanted.has(metric)) continue
        const key = keyOf(entity, metric)
        if (!this.ringOf(key).push(frame.time_ms, value)) continue
        keys.push(key)
        values.push(value ?? Number.NaN)
      }
    }
    return keys.length ? { time: frame.time_ms, keys, values: Float64Array.from(values) } : null
  }

  /** The samples of some series, each those later than its own time; series without a ring have none. */
  since(keys: readonly string[], times: Float64Array): LiveSeries[] {
    return keys.map((key, i) => ({ key, samples: (this.rings.get(key) ?? new Ring(0)).since(times[i] as number) }))
  }

  private ringOf(key: string): Ring {
    let ring = this.rings.get(key)
    if (!ring) this.rings.set(key, (ring = new Ring()))
    return ring
  }
}
