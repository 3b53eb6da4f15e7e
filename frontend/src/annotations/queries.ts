/** Reads and writes of the notes on a host's time. */

import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/vue-query'
import type { MaybeRefOrGetter } from 'vue'
import { computed, shallowRef, toValue } from 'vue'
import type { AnnotationInfo } from '@/api/incidentSchema'
import { deleteJson, getJson, postJson, queryText } from '@/api/client'
import { hostPath, limits } from '@/api/queries'
import type { Span } from '@/time/span'
import { widthOf } from '@/time/span'

const PERIOD_MS = 15_000

export function useAnnotations(host: string, span: MaybeRefOrGetter<Span>) {
  const path = computed(() => hostPath(host, `/annotations?${queryText(limits(toValue(span)))}`))
  return useQuery({
    queryKey: ['annotations', host, path],
    queryFn: ({ signal }) => getJson<AnnotationInfo[]>(path.value, signal),
    placeholderData: keepPreviousData,
    refetchInterval: PERIOD_MS,
    gcTime: PERIOD_MS,
    shallow: true,
  })
}

export function useAnnotationActions(host: string) {
  const client = useQueryClient()
  const busy = shallowRef(false)
  const error = shallowRef('')

  /** True when the server took it. */
  async function change(send: () => Promise<unknown>): Promise<boolean> {
    busy.value = true
    error.value = ''
    try {
      await send()
      await client.invalidateQueries({ queryKey: ['annotations', host] })
      return true
    } catch (failure) {
      error.value = failure instanceof Error ? failure.message : String(failure)
      return false
    } finally {
      busy.value = false
    }
  }

  /** A note on a span, or on its moment where it has no width. */
  function add(span: Span, text: string): Promise<boolean> {
    const at = new Date(Math.round(span.from)).toISOString()
    const to = widthOf(span) > 0 ? { to: new Date(Math.round(span.to)).toISOString() } : {}
    return change(() => postJson<AnnotationInfo>(hostPath(host, '/annotations'), { at, text, ...to }))
  }

  return { busy, error, add, remove: (id: string) => change(() => deleteJson(hostPath(host, `/annotations/${encodeURIComponent(id)}`))) }
}
