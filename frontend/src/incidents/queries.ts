/** Reads and writes of incidents. */

import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/vue-query'
import type { MaybeRefOrGetter } from 'vue'
import { computed, shallowRef, toValue } from 'vue'
import { getJson, postJson, queryText } from '@/api/client'
import type { IncidentDetail, IncidentSummary } from '@/api/incidentSchema'
import { sharedLink, sourcePath } from '@/api/source'
import { language } from '@/language/words'

const LIST_PERIOD_MS = 10_000
const DETAIL_PERIOD_MS = 10_000
const COUNT_PERIOD_MS = 15_000
const LIST_LIMIT = 200
/** More open ones are told as "more than". */
export const COUNT_LIMIT = 100

export type IncidentFilter = Record<string, string>

export function useIncidents(filter: MaybeRefOrGetter<IncidentFilter>) {
  const path = computed(() => `/incidents?${queryText({ ...toValue(filter), limit: LIST_LIMIT })}`)
  return useQuery({
    queryKey: ['incidents', path, language],
    queryFn: ({ signal }) => getJson<IncidentSummary[]>(path.value, signal),
    placeholderData: keepPreviousData,
    refetchInterval: LIST_PERIOD_MS,
    shallow: true,
  })
}

/** How many are open, up to the limit. */
export function useOpenIncidents(enabled: MaybeRefOrGetter<boolean>) {
  return useQuery({
    queryKey: ['incidents', 'open'],
    queryFn: async ({ signal }) => (await getJson<IncidentSummary[]>(`/incidents?state=open&limit=${COUNT_LIMIT}`, signal)).length,
    enabled: () => toValue(enabled),
    refetchInterval: COUNT_PERIOD_MS,
    // What the page shows itself is told there; this is a number beside it.
    retry: false,
  })
}

/** Where an incident is downloaded as a file. */
export function incidentFilePath(id: string): string {
  return `/api/v1${incidentPath(id, '/file')}`
}

function incidentPath(id: string, rest = ''): string {
  return sourcePath(`/incidents/${encodeURIComponent(id)}${rest}`)
}

export function useIncident(id: MaybeRefOrGetter<string>) {
  return useQuery({
    queryKey: ['incident', sharedLink, computed(() => toValue(id)), language],
    queryFn: ({ signal }) => getJson<IncidentDetail>(incidentPath(toValue(id)), signal),
    refetchInterval: ({ state }) => (state.data?.summary.state === 'open' ? DETAIL_PERIOD_MS : false),
    shallow: true,
  })
}

/** What people do to an incident; the answer is shown at once, a failure is told. */
export function useIncidentActions(id: MaybeRefOrGetter<string>) {
  const client = useQueryClient()
  const busy = shallowRef(false)
  const error = shallowRef('')

  /** True when it was stored. */
  async function post(action: 'acknowledge' | 'comment' | 'assign', body: object): Promise<boolean> {
    busy.value = true
    error.value = ''
    try {
      const answer = await postJson<IncidentDetail>(incidentPath(toValue(id), `/${action}`), body)
      client.setQueryData(['incident', sharedLink.value, toValue(id), language.value], answer)
      void client.invalidateQueries({ queryKey: ['incidents'] })
      return true
    } catch (failure) {
      error.value = failure instanceof Error ? failure.message : String(failure)
      return false
    } finally {
      busy.value = false
    }
  }

  return { busy, error, acknowledge: () => post('acknowledge', {}), comment: (text: string) => post('comment', { text }), assign: (to: string) => post('assign', { to }) }
}
