/** Asks for the series of the settled span and puts the answers into the book. */

import type { Ref } from 'vue'
import { computed, watch } from 'vue'
import { useQueryClient } from '@tanstack/vue-query'
import type { SpanWish } from '@/api/queries'
import { useSeries } from '@/api/queries'
import type { HostDetail, SeriesAnswer } from '@/api/schema'
import { widthOf } from '@/time/span'
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

export function useSeriesFeeds(context: TimelineContext, around: Ref<SpanWish>, detail: Ref<HostDetail>): SeriesFeeds {
  const { book, viewport, plotWidth } = context
  const client = useQueryClient()
  // About one bucket a pixel of the visible part; the request reaches beyond it.
  const buckets = computed(() => {
    const { span } = around.value
    const wider = span ? widthOf(span) / widthOf(viewport.settled.value) : 1
    return Math.ceil((plotWidth.value * wider) / 200) * 200
  })
  const gpus = computed(() => (detail.value.devices.length ? around.value : { ...around.value, span: null }))
  const capped = (limit: number): number => Math.max(200, Math.min(limit, buckets.value))

  const queries = [
    useSeries(gpus, () => ({
      entity: ['gpu:*'], metric: gpuMetrics(), buckets: capped(LINE_BUCKETS),
    })),
    useSeries(around, () => ({ entity: ['core:*'], metric: ['cpu_core_busy_ratio'], buckets: capped(HEAT_BUCKETS) })),
    useSeries(around, () => ({ entity: ['process:*'], metric: ['process_cpu_cores'], buckets: capped(HEAT_BUCKETS) })),
  ]
  for (const query of queries) {
    watch(query.data, (answer: SeriesAnswer | undefined) => answer && book.take(answer), { immediate: true })
  }

  return {
    loading: computed(() => queries.some((query) => query.isFetching.value)),
    error: computed(() => queries.find((query) => query.error.value)?.error.value?.message ?? null),
    refetch: () => void client.invalidateQueries({ queryKey: ['span', around.value.host] }),
  }
}
