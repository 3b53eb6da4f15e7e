/** Asks for the series of the settled span and puts the answers into the book. */

import type { Ref } from 'vue'
import { computed, watch } from 'vue'
import { useQueryClient } from '@tanstack/vue-query'
import { useSeries } from '@/api/queries'
import type { HostDetail, SeriesAnswer } from '@/api/schema'
import { requestSpan, widthOf } from '@/time/span'
import type { TimelineContext } from '@/timeline/context'
import { gpuMetrics } from '@/timeline/lanes'

/** Buckets asked for at most for lines; cores and processes need fewer. */
const LINE_BUCKETS = 2400
const HEAT_BUCKETS = 1200

export interface SeriesFeeds {
  loading: Ref<boolean>
  error: Ref<string | null>
  /** Fills holes from the store, as after a lost connection. */
  refetch(): void
}

export function useSeriesFeeds(context: TimelineContext, host: string, detail: Ref<HostDetail>): SeriesFeeds {
  const { book, viewport, plotWidth } = context
  const client = useQueryClient()
  const span = computed(() => (plotWidth.value > 0 ? requestSpan(viewport.settled.value) : null))
  // About one bucket a pixel of the visible part; the request reaches beyond it.
  const buckets = computed(() => {
    const wider = span.value ? widthOf(span.value) / widthOf(viewport.settled.value) : 1
    return Math.ceil((plotWidth.value * wider) / 200) * 200
  })
  const hasGpu = computed(() => detail.value.devices.length > 0)
  const capped = (limit: number): number => Math.max(200, Math.min(limit, buckets.value))

  const queries = [
    useSeries(host, () => (hasGpu.value ? span.value : null), () => ({
      entity: ['gpu:*'], metric: gpuMetrics(), buckets: capped(LINE_BUCKETS),
    })),
    useSeries(host, span, () => ({ entity: ['core:*'], metric: ['cpu_core_busy_ratio'], buckets: capped(HEAT_BUCKETS) })),
    useSeries(host, span, () => ({ entity: ['process:*'], metric: ['process_cpu_cores'], buckets: capped(HEAT_BUCKETS) })),
  ]
  for (const query of queries) {
    watch(query.data, (answer: SeriesAnswer | undefined) => answer && book.take(answer), { immediate: true })
  }

  return {
    loading: computed(() => queries.some((query) => query.isFetching.value)),
    error: computed(() => queries.find((query) => query.error.value)?.error.value?.message ?? null),
    refetch: () => void client.invalidateQueries({ queryKey: ['span', host] }),
  }
}
