/** The newest samples of one series in fixed memory: times ascending, NaN for "no value". */

/** Ten minutes at 10 Hz. */
export const RING_CAPACITY = 6000

/** Samples out of a ring, times ascending, NaN for "no value". */
export interface LiveSamples {
  /** Time of the oldest sample that the ring still holds. */
  oldest: number
  times: Float64Array<ArrayBuffer>
  values: Float64Array<ArrayBuffer>
}

export class Ring {
  private readonly times: Float64Array
  private readonly values: Float64Array
  private start = 0
  private count = 0

  constructor(capacity = RING_CAPACITY) {
    this.times = new Float64Array(capacity)
    this.values = new Float64Array(capacity)
  }

  get length(): number {
    return this.count
  }

  get lastTime(): number {
    return this.count ? this.timeAt(this.count - 1) : Number.NEGATIVE_INFINITY
  }

  /** Appends a sample; one that is not newer than the last is refused, so that order holds after a reconnect. */
  push(time: number, value: number | null): boolean {
    if (time <= this.lastTime) return false
    const capacity = this.times.length
    const slot = (this.start + this.count) % capacity
    this.times[slot] = time
    this.values[slot] = value ?? Number.NaN
    if (this.count < capacity) this.count += 1
    else this.start = (this.start + 1) % capacity
    return true
  }

  timeAt(index: number): number {
    return this.times[(this.start + index) % this.times.length] as number
  }

  valueAt(index: number): number | null {
    const value = this.values[(this.start + index) % this.values.length] as number
    return Number.isNaN(value) ? null : value
  }

  /** Index of the first sample later than `time`. */
  firstAfter(time: number): number {
    let low = 0
    let high = this.count
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.timeAt(middle) <= time) low = middle + 1
      else high = middle
    }
    return low
  }

  /** Copies of the samples later than `time`. */
  since(time: number): LiveSamples {
    const first = this.firstAfter(time)
    const count = this.count - first
    const times = new Float64Array(count)
    const values = new Float64Array(count)
    for (let i = 0; i < count; i += 1) {
      const slot = (this.start + first + i) % this.times.length
      times[i] = this.times[slot] as number
      values[i] = this.values[slot] as number
    }
    return { oldest: this.count ? this.timeAt(0) : Number.POSITIVE_INFINITY, times, values }
  }
}
