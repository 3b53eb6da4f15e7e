/** The page's reads, cached and repeated by vue-query. Answers stay out of deep reactivity: they are big arrays. */

import { keepPreviousData, useQuery } from '@tanstack/vue-query'
import type { MaybeRefOrGetter } from 'vue'
import { computed, toValue } from 'vue'
import { getJson, queryText } from '@/api/client'
import type { Catalog, GapsAnswer, HostDetail, HostSummary, RibbonAnswer, SeriesAnswer, Verdict } from '@/api/schema'
import type { Span } from '@/time/span'

const FLEET_PERIOD_MS = 2000
const DETAIL_PERIOD_MS = 5000
/** The span is part of the key, so an answer about the past never grows old. */
const SPAN_STALE_MS = 60_000

function hostPath(host: string, rest = ''): string {
  return `/hosts/${encodeURIComponent(host)}${rest}`
}

function limits(span: Span): { from: number; to: number } {
  return { from: Math.round(span.from), to: Math.round(span.to) }
}

export function useCatalog() {
  return useQuery({
    queryKey: ['catalog'],
    queryFn: ({ signal }) => getJson<Catalog>('/catalog', signal),
    staleTime: Number.POSITIVE_INFINITY,
    shallow: true,
  })
}

export function useHosts() {
  return useQuery({
    queryKey: ['hosts'],
    queryFn: ({ signal }) => getJson<HostSummary[]>('/hosts', signal),
    refetchInterval: FLEET_PERIOD_MS,
    shallow: true,
  })
}

export function useHostDetail(host: MaybeRefOrGetter<string>) {
  return useQuery({
    queryKey: ['host', computed(() => toValue(host))],
    queryFn: ({ signal }) => getJson<HostDetail>(hostPath(toValue(host)), signal),
    refetchInterval: DETAIL_PERIOD_MS,
    shallow: true,
  })
}

/** One read about a span of a host; waits while the span is unknown and keeps the last answer meanwhile. */
function useSpanQuery<T>(
  name: string,
  host: MaybeRefOrGetter<string>,
  span: MaybeRefOrGetter<Span | null>,
  more: MaybeRefOrGetter<Record<string, string | number | readonly string[]>>,
) {
  const path = computed(() => {
    const wanted = toValue(span)
    return wanted && hostPath(toValue(host), `/${name}?${queryText({ ...limits(wanted), ...toValue(more) })}`)
  })
  return useQuery({
    queryKey: ['span', computed(() => toValue(host)), path],
    queryFn: ({ signal }) => getJson<T>(path.value as string, signal),
    enabled: computed(() => path.value !== null),
    placeholderData: keepPreviousData,
    staleTime: SPAN_STALE_MS,
    gcTime: SPAN_STALE_MS,
    shallow: true,
  })
}

export interface SeriesWish {
  entity: readonly string[]
  metric: readonly string[]
  buckets: number
}

export function useSeries(
  host: MaybeRefOrGetter<string>,
  span: MaybeRefOrGetter<Span | null>,
  wish: MaybeRefOrGetter<SeriesWish>,
) {
  return useSpanQuery<SeriesAnswer>('series', host, span, () => ({ ...toValue(wish) }))
}

export function useRibbon(
  host: MaybeRefOrGetter<string>,
  span: MaybeRefOrGetter<Span | null>,
  buckets: MaybeRefOrGetter<number>,
) {
  return useSpanQuery<RibbonAnswer>('ribbon', host, span, () => ({ buckets: toValue(buckets) }))
}

export function useGaps(host: MaybeRefOrGetter<string>, span: MaybeRefOrGetter<Span | null>) {
  return useSpanQuery<GapsAnswer>('gaps', host, span, {})
}

export function useDiagnosis(host: MaybeRefOrGetter<string>, span: MaybeRefOrGetter<Span | null>) {
  return useSpanQuery<Verdict>('diagnosis', host, span, {})
}
