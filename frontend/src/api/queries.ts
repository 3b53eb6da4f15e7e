/** The page's reads, cached and repeated by vue-query. Answers stay out of deep reactivity: they are big arrays. */

import { keepPreviousData, useQuery } from '@tanstack/vue-query'
import type { MaybeRefOrGetter } from 'vue'
import { computed, toValue } from 'vue'
import { ApiError, getJson, queryText } from '@/api/client'
import type { Contrast, Flame } from '@/api/analysisSchema'
import type { Catalog, GapsAnswer, HostDetail, HostSummary, RibbonAnswer, SeriesAnswer, Verdict } from '@/api/schema'
import { sharedLink, sourcePath } from '@/api/source'
import type { Language } from '@/language/words'
import { language } from '@/language/words'
import type { Span } from '@/time/span'

const FLEET_PERIOD_MS = 2000
/** A large fleet is asked for more seldom: its answer is megabytes. */
const PERIOD_PER_HOST_MS = 10
const DETAIL_PERIOD_MS = 5000
/** A little more than a live view's own period, which asks anew by itself while frames come. */
const GROWING_PERIOD_MS = 7000
/** The span is part of the key, so an answer about the past never grows old. */
const SPAN_STALE_MS = 60_000
/** Live views ask about new spans all the time; old answers must not pile up. */
const SPAN_KEPT_MS = 15_000

export function hostPath(host: string, rest = ''): string {
  return sourcePath(`/hosts/${encodeURIComponent(host)}${rest}`)
}

export function limits(span: Span): { from: number; to: number } {
  return { from: Math.round(span.from), to: Math.round(span.to) }
}

export function useCatalog() {
  return useQuery({
    queryKey: ['catalog', sharedLink, language],
    queryFn: ({ signal }) => getJson<Catalog>(sourcePath('/catalog'), signal),
    staleTime: Number.POSITIVE_INFINITY,
    shallow: true,
  })
}

export function useHosts(enabled: MaybeRefOrGetter<boolean> = true) {
  return useQuery({
    queryKey: ['hosts', language],
    queryFn: ({ signal }) => getJson<HostSummary[]>('/hosts', signal),
    placeholderData: keepPreviousData,
    enabled: () => toValue(enabled),
    refetchInterval: ({ state }) => Math.max(FLEET_PERIOD_MS, (state.data?.length ?? 0) * PERIOD_PER_HOST_MS),
    structuralSharing: false,
    shallow: true,
  })
}

/** Whether the server knows nothing under that name. */
export function isMissing(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404
}

export function useHostDetail(host: MaybeRefOrGetter<string>) {
  return useQuery({
    queryKey: ['host', sharedLink, computed(() => toValue(host))],
    queryFn: ({ signal }) => getJson<HostDetail>(hostPath(toValue(host)), signal),
    // A host that is not there is not asked for again and again; the list of hosts tells when it is.
    refetchInterval: ({ state }) => (isMissing(state.error) ? false : DETAIL_PERIOD_MS),
    shallow: true,
  })
}

/** A span of a host to ask about; `growing`: data of its end may still arrive, so ask again. */
export interface SpanWish {
  host: string
  span: Span | null
  growing: boolean
}

/**
 * One read about a span of a host; waits while the span is unknown and keeps the last answer meanwhile. `spoken` is the
 * language of an answer that holds sentences: another one is another answer.
 */
function useSpanQuery<T>(
  name: string,
  wish: MaybeRefOrGetter<SpanWish>,
  more: MaybeRefOrGetter<Record<string, string | number | readonly string[]>>,
  spoken: MaybeRefOrGetter<Language | null> = null,
) {
  const path = computed(() => {
    const { host, span } = toValue(wish)
    return span && hostPath(host, `/${name}?${queryText({ ...limits(span), ...toValue(more) })}`)
  })
  return useQuery({
    queryKey: ['span', computed(() => toValue(wish).host), path, computed(() => toValue(spoken))],
    queryFn: ({ signal }) => getJson<T>(path.value as string, signal),
    enabled: computed(() => path.value !== null),
    placeholderData: keepPreviousData,
    // Answers are compared nowhere and big: looking for equal parts in them would cost more than drawing.
    structuralSharing: false,
    staleTime: SPAN_STALE_MS,
    refetchInterval: () => (toValue(wish).growing ? GROWING_PERIOD_MS : false),
    gcTime: SPAN_KEPT_MS,
    shallow: true,
  })
}

export interface SeriesChoice {
  entity: readonly string[]
  metric: readonly string[]
  buckets: number
}

export function useSeries(wish: MaybeRefOrGetter<SpanWish>, choice: MaybeRefOrGetter<SeriesChoice>) {
  return useSpanQuery<SeriesAnswer>('series', wish, () => ({ ...toValue(choice) }))
}

/** One read of series, outside the cache. */
export function readSeries(host: string, span: Span, choice: SeriesChoice): Promise<SeriesAnswer> {
  return getJson<SeriesAnswer>(hostPath(host, `/series?${queryText({ ...limits(span), ...choice })}`))
}

export function useRibbon(wish: MaybeRefOrGetter<SpanWish>, buckets: MaybeRefOrGetter<number>) {
  return useSpanQuery<RibbonAnswer>('ribbon', wish, () => ({ buckets: toValue(buckets) }), language)
}

/** The longest gaps, as many as `limit`; without one as many as the server lists by itself. */
export function useGaps(wish: MaybeRefOrGetter<SpanWish>, limit?: number) {
  return useSpanQuery<GapsAnswer>('gaps', wish, limit === undefined ? {} : { limit })
}

/** One read of gaps, outside the cache. */
export function readGaps(host: string, span: Span, limit: number): Promise<GapsAnswer> {
  return getJson<GapsAnswer>(hostPath(host, `/gaps?${queryText({ ...limits(span), limit })}`))
}

export function useDiagnosis(wish: MaybeRefOrGetter<SpanWish>) {
  return useSpanQuery<Verdict>('diagnosis', wish, {}, language)
}

/** What to fold: the query of a flame graph without its span. */
export type FlameQuery = Record<string, string | number | readonly string[]>

export function useFlame(wish: MaybeRefOrGetter<SpanWish>, query: MaybeRefOrGetter<FlameQuery>) {
  return useSpanQuery<Flame>('flame', wish, query)
}

/** The same as a file to download: `collapsed` or `speedscope`. */
export function flamePath(host: string, span: Span, query: FlameQuery, format: string): string {
  return `/api/v1${hostPath(host, `/flame?${queryText({ ...limits(span), ...query, format })}`)}`
}

/** Gaps against the rest of the span, or, where `chosen` is given, that part of the span against its rest. */
export function useContrast(wish: MaybeRefOrGetter<SpanWish>, chosen: MaybeRefOrGetter<Span | null>) {
  const more = computed((): FlameQuery => {
    const span = toValue(chosen)
    return span ? { span: `${Math.round(span.from)}..${Math.round(span.to)}` } : {}
  })
  return useSpanQuery<Contrast[]>('contrast', wish, more, language)
}

/** Address of the stored series of a span as a file. */
export function exportPath(host: string, span: Span, format: 'csv' | 'parquet'): string {
  return `/api/v1${hostPath(host, `/export?${queryText({ ...limits(span), format })}`)}`
}
