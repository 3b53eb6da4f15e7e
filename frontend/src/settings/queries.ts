/** Reads of what is set and what takes the room, as in the backend's overview_schema.py and services/capacity.py. */

import { keepPreviousData, useQuery } from '@tanstack/vue-query'
import type { MaybeRefOrGetter } from 'vue'
import { computed, toValue } from 'vue'
import { getJson } from '@/api/client'
import type { RowClass, SessionInfo } from '@/api/schema'
import { language } from '@/language/words'

/** The server itself measures once a minute at most. */
const CAPACITY_STALE_MS = 60_000

export interface KeptSetting {
  setting: string
  value: number
  unit: 'hours' | 'days'
  kinds: string[]
}

export interface ServerSettings {
  retention: KeptSetting[]
  gap_threshold_ratio: number
  allowed_hosts: string[]
  read_only: boolean
}

export interface PinInfo {
  incident: string
  host: string
  cause: string
  title: string
  row_class: RowClass
  sentence: string
  from_ms: number
  to_ms: number
  until: string | null
}

export interface Pins {
  total: number
  pins: PinInfo[]
}

export interface KindCapacity {
  kind: string
  size_bytes: number
  growth_bytes_per_day: number | null
  kept_days: number | null
  steady_bytes: number | null
  pinned_bytes: number
}

export interface HostCapacity {
  host: string
  size_bytes: number
  growth_bytes_per_day: number | null
}

export interface SettingCapacity {
  setting: string
  now: number
  instead: number
  frees_bytes: number
  steady_frees_bytes: number | null
}

export interface Capacity {
  database: string
  state: 'measured' | 'short_history' | 'not_enough_history'
  measured_seconds: number
  used_bytes: number
  free_bytes: number | null
  read_only: boolean
  growth_bytes_per_day: number | null
  steady_bytes: number | null
  fills: boolean | null
  days_until_full: number | null
  kinds: KindCapacity[]
  hosts: HostCapacity[]
  settings: SettingCapacity[]
}

export function useServerSettings() {
  return useQuery({ queryKey: ['settings'], queryFn: ({ signal }) => getJson<ServerSettings>('/settings', signal), shallow: true })
}

export function useSession() {
  return useQuery({ queryKey: ['session'], queryFn: ({ signal }) => getJson<SessionInfo>('/session', signal), shallow: true })
}

export function usePins() {
  return useQuery({ queryKey: ['pins', language], queryFn: ({ signal }) => getJson<Pins>('/pins', signal), shallow: true })
}

/** `limit`: what the database may take (bytes), where its disk is not seen from the server. */
export function useCapacity(limit: MaybeRefOrGetter<number | null>) {
  return useQuery({
    queryKey: ['capacity', computed(() => toValue(limit))],
    queryFn: ({ signal }) => {
      const bytes = toValue(limit)
      return getJson<Capacity>(bytes === null ? '/capacity' : `/capacity?limit_bytes=${bytes}`, signal)
    },
    placeholderData: keepPreviousData,
    staleTime: CAPACITY_STALE_MS,
    shallow: true,
  })
}
