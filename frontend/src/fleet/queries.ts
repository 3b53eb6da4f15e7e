/** Reads of the fleet's past. */

import { keepPreviousData, useQuery } from '@tanstack/vue-query'
import type { MaybeRefOrGetter } from 'vue'
import { computed, toValue } from 'vue'
import { getJson, queryText } from '@/api/client'
import type { IncidentSummary } from '@/api/incidentSchema'
import type { FleetBounds, FleetMinute } from '@/fleet/schema'
import { language } from '@/language/words'
import type { Span } from '@/time/span'

const BOUNDS_PERIOD_MS = 30_000
const STRIP_PERIOD_MS = 15_000
const STRIP_LIMIT = 1000
/** Data of a minute may come late, so it is asked for again. */
const MINUTE_PERIOD_MS = 30_000

/** How far back the fleet can be shown. */
export function useFleetBounds() {
  return useQuery({
    queryKey: ['fleet', 'bounds'],
    queryFn: ({ signal }) => getJson<FleetBounds>('/fleet/bounds', signal),
    refetchInterval: BOUNDS_PERIOD_MS,
    shallow: true,
  })
}

/** The fleet at a moment; asks nothing while there is none. */
export function useFleetMinute(at: MaybeRefOrGetter<number | null>) {
  return useQuery({
    queryKey: ['fleet', 'minute', computed(() => toValue(at)), language],
    queryFn: ({ signal }) => getJson<FleetMinute>(`/fleet?at=${toValue(at)}`, signal),
    enabled: () => toValue(at) !== null,
    placeholderData: keepPreviousData,
    refetchInterval: MINUTE_PERIOD_MS,
    structuralSharing: false,
    gcTime: MINUTE_PERIOD_MS,
    shallow: true,
  })
}

/** Incidents that touch a span, for the strip over the scrubber. */
export function useStripIncidents(span: MaybeRefOrGetter<Span | null>) {
  const path = computed(() => {
    const of = toValue(span)
    return of && `/incidents?${queryText({ from: Math.round(of.from), to: Math.round(of.to), limit: STRIP_LIMIT })}`
  })
  return useQuery({
    queryKey: ['incidents', 'strip', path, language],
    queryFn: ({ signal }) => getJson<IncidentSummary[]>(path.value as string, signal),
    enabled: () => path.value !== null,
    placeholderData: keepPreviousData,
    refetchInterval: STRIP_PERIOD_MS,
    gcTime: STRIP_PERIOD_MS,
    shallow: true,
  })
}
