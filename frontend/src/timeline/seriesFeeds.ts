/** Asks for the series of the settled span and puts the answers into the book. */

import type { Ref } from 'vue'
import { computed, watch } from 'vue'
import { useQueryClient } from '@tanstack/vue-query'
import { useSeries } from '@/api/queries'
import { coarseBucket } from '@/series/coarse'
import type { HostDetail, SeriesAnswer } from '@/api/schema'
import { widthOf } from '@/time/span'
import type { TimelineContext } from '@/timeline/context'
import { gpuMetrics } from '@/timeline/lanes'
import type { TimelineSpans } from '@/timeline/spans'

/** Buckets asked for at most for lines; cores and processes need fewer. */
const LINE_BUCKETS = 2400
const HEAT_BUCKETS = 1200

/** Why series could not be read, by what they are about; null where they could. */
export interface SeriesErrors {
  gpus: string | null
  cores: string | null
  processes: string | null
}

export interface SeriesFeeds {
  loading: Ref<boolean>
  errors: Ref<SeriesErrors>
  /** Length of the buckets in ms where the samples of the visible time are kept no more; else null. */
  coarseMs: Ref<number | null>
  /** Fills holes from the store, as after a lost connection. */
  refetch(): void
}

export function useSeriesFeeds(context: TimelineContext, spans: TimelineSpans, detail: Ref<HostDetail>): SeriesFeeds {
  const { book } = context
  const { around, lineBucketMs } = spans
  const client = useQueryClient()
  const gpus = computed(() => (detail.value.devices.length ? around.value : { ...around.value, span: null }))

  /** As many buckets as the span holds, in halves of these while there are more than `limit`. */
  function capped(limit: number): number {
    const { span } = around.value
    let count = span ? Math.max(1, Math.round(widthOf(span) / lineBucketMs.value)) : 1
    while (count > limit) count = Math.ceil(count / 2)
    return count
  }

  const gpuSeries = useSeries(gpus, () => ({ entity: ['gpu:*'], metric: gpuMetrics(), buckets: capped(LINE_BUCKETS) }))
  const cores = useSeries(around, () => ({ entity: ['core:*'], metric: ['cpu_core_busy_ratio'], buckets: capped(HEAT_BUCKETS) }))
  const processes = useSeries(around, () => ({ entity: ['process:*'], metric: ['process_cpu_cores'], buckets: capped(HEAT_BUCKETS) }))
  const queries = [gpuSeries, cores, processes]
  for (const query of queries) {
    watch(query.data, (answer: SeriesAnswer | undefined) => answer && book.take(answer), { immediate: true })
  }

  const coarseMs = computed(() => {
    const answer = gpuSeries.data.value ?? cores.data.value
    const { span } = around.value
    return answer && span ? coarseBucket(answer, widthOf(span) / capped(HEAT_BUCKETS)) : null
  })

  return {
    coarseMs,
    loading: computed(() => queries.some((query) => query.isFetching.value)),
    errors: computed(() => ({
      gpus: gpuSeries.error.value?.message ?? null,
      cores: cores.error.value?.message ?? null,
      processes: processes.error.value?.message ?? null,
    })),
    refetch: () => void client.invalidateQueries({ queryKey: ['span', around.value.host] }),
  }
}
