/** The spans that the server is asked about, from what is settled on the screen. */

import type { ComputedRef, Ref } from 'vue'
import { computed, shallowRef, watch } from 'vue'
import type { SpanWish } from '@/api/queries'
import type { HostDetail } from '@/api/schema'
import { gapWindow, MAX_GAP_SPAN_MS, onGrid } from '@/gaps/search'
import type { Span } from '@/time/span'
import { bucketLength, clipped, requestSpan, widthOf } from '@/time/span'
import type { TimelineContext } from '@/timeline/context'
import { boundsOf } from '@/timeline/lanes'

/** A bucket of a line is at least a pixel wide, one of the ribbon a few; short runs of it are joined for reading. */
const LINE_PIXELS = 1
const RIBBON_PIXELS = 4
/** Stacks are taken about every 100 ms: shorter buckets would often be empty. */
const MIN_RIBBON_BUCKET_MS = 128
/** The next gap is looked for this far around the view, at least. */
const MIN_REACH_MS = 120_000
/** And no further than this, so that the server need not search a day for a view of hours. */
const MAX_REACH_MS = 2 * 3_600_000
/** One cell: less cannot be judged. */
const MIN_VISIBLE_MS = 100
/** Batches of 5 s arrive one after the other: near the end of what is stored there may be more to come. */
const ARRIVAL_MS = 6000
/** Growth of the stored data, as a share of the view, from which the verdict is asked for anew. */
const STORED_STEP = 0.05

/** The server judges an hour at most, and lists gaps and stacks of a day. */
const MAX_JUDGED_MS = 3_600_000
const MAX_DAY_MS = MAX_GAP_SPAN_MS

export interface TimelineSpans {
  /** The visible span where there is data: gaps. Without a span where it is wider than the server answers about. */
  visible: ComputedRef<SpanWish>
  /** The same for the verdict. */
  judged: ComputedRef<SpanWish>
  /** The visible span with room: series, and how long a bucket of them is. */
  around: ComputedRef<SpanWish>
  lineBucketMs: ComputedRef<number>
  /** The same for stacks. */
  stacks: ComputedRef<SpanWish>
  /** Far around: the way from gap to gap. */
  wide: ComputedRef<SpanWish>
  ribbonBuckets: ComputedRef<number>
}

export function useSpans(context: TimelineContext, host: string, detail: Ref<HostDetail>): TimelineSpans {
  const { viewport, plotWidth } = context
  const hasGpu = computed(() => detail.value.devices.length > 0)

  /** While live, the end moves with every settling and nothing is asked about the future. */
  function ended(span: Span, bucketMs = 1): Span {
    return viewport.live.value ? { ...span, to: Math.ceil(viewport.settled.value.to / bucketMs) * bucketMs } : span
  }

  function wish(span: Span | null): SpanWish {
    const growing = span !== null && detail.value.state === 'live' && span.to > boundsOf(detail.value).to - ARRIVAL_MS
    return { host, span, growing }
  }

  // What is stored grows every few seconds. A new end is taken over only when it matters for what is shown: a wide span
  // takes the server seconds to judge, and asking anew each time would never let it finish.
  const stored = shallowRef(boundsOf(detail.value))
  watch([detail, viewport.settled], ([now, settled], [, before]) => {
    const bounds = boundsOf(now)
    const enough = bounds.to - stored.value.to >= widthOf(settled) * STORED_STEP
    if (settled !== before || now.state !== 'live' || enough) stored.value = bounds
  })

  // The verdict is about what is stored: the newest seconds are still on their way and would count as not measured.
  const part = computed(() => {
    const bounds = stored.value
    const shown = viewport.live.value ? { from: bounds.to - viewport.liveSeconds.value * 1000, to: bounds.to } : viewport.settled.value
    return clipped(shown, bounds)
  })
  function upTo(widest: number): SpanWish {
    const width = widthOf(part.value)
    return wish(hasGpu.value && width >= MIN_VISIBLE_MS && width <= widest ? part.value : null)
  }
  const visible = computed(() => upTo(MAX_DAY_MS))
  const judged = computed(() => upTo(MAX_JUDGED_MS))
  const lineBucketMs = computed(() => bucketLength(viewport.settled.value, plotWidth.value, LINE_PIXELS))
  const ribbonBucketMs = computed(() => Math.max(MIN_RIBBON_BUCKET_MS, bucketLength(viewport.settled.value, plotWidth.value, RIBBON_PIXELS)))
  function aroundOn(bucketMs: number): SpanWish {
    return wish(plotWidth.value > 0 ? ended(requestSpan(viewport.settled.value, 0, bucketMs), bucketMs) : null)
  }
  const around = computed(() => aroundOn(lineBucketMs.value))
  const stacks = computed(() => {
    const wanted = aroundOn(ribbonBucketMs.value)
    if (!hasGpu.value || !wanted.span || widthOf(wanted.span) <= MAX_DAY_MS) return hasGpu.value ? wanted : wish(null)
    return visible.value
  })
  const wide = computed(() => {
    const width = widthOf(viewport.settled.value)
    const reach = Math.max(MIN_REACH_MS, Math.min(4 * width, MAX_REACH_MS))
    const near = clipped(ended(requestSpan(viewport.settled.value, reach)), stored.value)
    return wish(hasGpu.value && widthOf(near) > 0 ? onGrid(gapWindow(near, viewport.settled.value)) : null)
  })
  const ribbonBuckets = computed(() => {
    const { span } = stacks.value
    return span ? Math.max(1, Math.round(widthOf(span) / ribbonBucketMs.value)) : 1
  })
  return { visible, judged, around, lineBucketMs, stacks, wide, ribbonBuckets }
}
