/** Reads and writes of shares. */

import { useQuery } from '@tanstack/vue-query'
import type { MaybeRefOrGetter } from 'vue'
import { computed, toValue } from 'vue'
import { useAction } from '@/api/action'
import { ApiError, deleteJson, getJson, postJson, queryText } from '@/api/client'
import type { ShareInfo, ShareMade, ShareSubject, ShareView, ShareWish } from '@/share/schema'

/** A link may be revoked while somebody looks at it. */
const LOOK_PERIOD_MS = 60_000

/** What a link shows; asked for again now and then, so that its end is seen. */
export function useShareView(link: MaybeRefOrGetter<string>) {
  return useQuery({
    queryKey: ['share', computed(() => toValue(link))],
    queryFn: ({ signal }) => getJson<ShareView>(`/shared/${encodeURIComponent(toValue(link))}`, signal),
    refetchInterval: ({ state }) => (isOver(state.error) ? false : LOOK_PERIOD_MS),
    shallow: true,
  })
}

/** Whether the server says that a link was there, and is no more. */
export function isOver(error: unknown): boolean {
  return error instanceof ApiError && error.status === 410
}

/** Links to one incident, newest first. */
export function useShares(incident: MaybeRefOrGetter<string>) {
  return useQuery({
    queryKey: ['shares', computed(() => toValue(incident))],
    queryFn: ({ signal }) => getJson<ShareInfo[]>(`/shares?${queryText({ incident: toValue(incident) })}`, signal),
    shallow: true,
  })
}

export function useShareActions() {
  const { busy, error, act } = useAction('shares')

  return {
    busy,
    error,
    make: (subject: ShareSubject, wish: ShareWish) => act(() => postJson<ShareMade>('/shares', { ...subject, ...wish })),
    revoke: (id: string) => act(() => deleteJson(`/shares/${encodeURIComponent(id)}`)),
  }
}
