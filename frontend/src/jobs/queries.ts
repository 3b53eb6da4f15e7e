/** Reads of jobs. */

import { keepPreviousData, useQuery } from '@tanstack/vue-query'
import type { MaybeRefOrGetter } from 'vue'
import { computed, toValue } from 'vue'
import { getJson, queryText } from '@/api/client'
import { limits } from '@/api/queries'
import type { JobDetail } from '@/jobs/schema'
import { language } from '@/language/words'
import type { Span } from '@/time/span'

const STALE_MS = 60_000

/** A job over a span, or, without one, over the last time that it was seen. */
export function useJob(job: MaybeRefOrGetter<string>, span: MaybeRefOrGetter<Span | null>) {
  const path = computed(() => {
    const asked = toValue(span)
    return `/jobs/${encodeURIComponent(toValue(job))}${asked ? `?${queryText(limits(asked))}` : ''}`
  })
  return useQuery({
    queryKey: ['job', path, language],
    queryFn: ({ signal }) => getJson<JobDetail>(path.value, signal),
    placeholderData: keepPreviousData,
    staleTime: STALE_MS,
    shallow: true,
  })
}
