/**
 * What the timeline shows: the visible span, whether it follows the newest data, and the moment under the cursor.
 * `settled` is the span that the server is asked about: it changes when a movement has ended, and every few seconds
 * while live.
 */

import type { InjectionKey, Ref, ShallowRef } from 'vue'
import { ref, shallowRef } from 'vue'
import type { Span } from '@/time/span'
import { keptNear, limited, panned, sameSpan, widthOf, zoomed } from '@/time/span'
import type { View } from '@/view/url'

const SETTLE_MS = 120
const LIVE_SETTLE_MS = 5000
/** Wide live views ask more seldom, so that one answer is there before the next is asked for. */
const LIVE_SETTLE_SHARE = 1 / 60
const MIN_LIVE_SECONDS = 2
const MAX_LIVE_SECONDS = 3600
/** Data shorter than this still gets so much room, so that the first seconds are not stretched over the screen. */
const MIN_LIVE_WIDTH_MS = 10_000

export class Viewport {
  readonly span: ShallowRef<Span>
  readonly settled: ShallowRef<Span>
  readonly bounds: ShallowRef<Span>
  readonly live = ref(false)
  readonly liveSeconds = ref(60)
  readonly cursor: Ref<number | null> = shallowRef(null)
  private readonly before: Span[] = []
  private timer: ReturnType<typeof setTimeout> | null = null
  private newest: number
  private settledAt = 0

  constructor(bounds: Span) {
    this.bounds = shallowRef(bounds)
    this.span = shallowRef(limited(bounds))
    this.settled = shallowRef(this.span.value)
    this.newest = bounds.to
  }

  /** From the first stored data to the newest known: outside of it nothing was measured yet, or any more. */
  get known(): Span {
    return { from: this.bounds.value.from, to: Math.max(this.newest, this.bounds.value.to) }
  }

  get view(): View {
    return this.live.value ? { live: true, seconds: this.liveSeconds.value } : { live: false, span: this.span.value }
  }

  /** Takes a view over at once, as from the address. */
  apply(view: View): void {
    if (view.live) this.goLive(view.seconds)
    else this.stand(view.span)
    this.settle()
  }

  /** New stored data or a new frame up to `time`; a live view moves along. */
  follow(time: number): void {
    this.newest = Math.max(this.newest, time)
    if (!this.live.value) return
    this.span.value = this.liveSpan()
    const period = Math.max(LIVE_SETTLE_MS, widthOf(this.span.value) * LIVE_SETTLE_SHARE)
    if (this.newest - this.settledAt >= period) this.settle()
  }

  goLive(seconds = this.liveSeconds.value): void {
    this.liveSeconds.value = Math.min(MAX_LIVE_SECONDS, Math.max(MIN_LIVE_SECONDS, seconds))
    this.live.value = true
    this.span.value = this.liveSpan()
    this.settle()
  }

  pause(): void {
    if (this.live.value) this.stand(this.span.value)
  }

  /** Goes to a span and remembers the one before for `zoomOut`. */
  jump(span: Span): void {
    this.before.push(this.span.value)
    this.stand(span)
  }

  zoom(factor: number, at?: number): void {
    if (this.live.value) this.goLive(this.liveSeconds.value * factor)
    else this.move(zoomed(this.span.value, factor, at ?? this.middle()))
  }

  pan(share: number): void {
    this.move(panned(this.span.value, share))
  }

  /** Follows a hand that drags the view to a span. */
  drag(span: Span): void {
    this.move(span)
  }

  /** One step back from a jump, or twice as wide when there was none. */
  zoomOut(): void {
    const span = this.before.pop()
    if (span) this.stand(span)
    else this.zoom(2)
  }

  fit(): void {
    this.jump(this.known)
  }

  /** Asks the server again for what is shown, as after a reconnect. */
  settle(): void {
    if (this.timer !== null) clearTimeout(this.timer)
    this.timer = null
    this.settledAt = this.newest
    if (!sameSpan(this.settled.value, this.span.value)) this.settled.value = this.span.value
  }

  dispose(): void {
    if (this.timer !== null) clearTimeout(this.timer)
  }

  private stand(span: Span): void {
    this.live.value = false
    this.move(limited(span))
  }

  private move(span: Span): void {
    this.live.value = false
    this.span.value = keptNear(span, this.known)
    if (this.timer !== null) clearTimeout(this.timer)
    this.timer = setTimeout(() => this.settle(), SETTLE_MS)
  }

  private middle(): number {
    return this.cursor.value ?? this.span.value.from + widthOf(this.span.value) / 2
  }

  private liveSpan(): Span {
    const to = this.newest
    const oldest = Math.min(this.bounds.value.from, to - MIN_LIVE_WIDTH_MS)
    return { from: Math.max(to - this.liveSeconds.value * 1000, oldest), to }
  }
}

export const viewportKey: InjectionKey<Viewport> = Symbol('viewport')
