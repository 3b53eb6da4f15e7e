/** Alerts, their rules, silences, channels and deliveries, as in backend/gapscope_backend/api/{alert,channel}_schema.py. */

import { useQuery } from '@tanstack/vue-query'
import type { MaybeRefOrGetter } from 'vue'
import { computed, toValue } from 'vue'
import { useAction } from '@/api/action'
import { getJson, queryText } from '@/api/client'
import { language } from '@/language/words'

const PERIOD_MS = 10_000

export interface AlertRule {
  id: string
  name: string
  kind: string
  about: string
  severity: string
  enabled: boolean
  origin: string
  spec: Record<string, unknown>
}

export interface Preview {
  count: number
  hosts: number
  from: string
  to: string
  /** False where the past of such a rule is not stored. */
  known: boolean
  fired: { host: string; subject: string; cause: string; sentence: string; began: string; fired: string; ended: string | null }[]
}

export interface Alert {
  id: string
  rule: string
  host: string
  state: 'pending' | 'firing' | 'resolved'
  severity: string
  sentence: string
  began: string
  resolved: string | null
  start_ms: number
  end_ms: number
  no_data_since: string | null
  /** Empty where it belongs to none. */
  incident: string
  acknowledged: string | null
  acknowledged_by: string
  silenced: boolean
}

export interface Silence {
  id: string
  matchers: string[]
  from: string
  to: string
  reason: string
  made_by: string
  active: boolean
}

export const DELIVERY_STATES = ['pending', 'delivered', 'failed', 'superseded'] as const
export type DeliveryState = (typeof DELIVERY_STATES)[number]

export interface Delivery {
  id: string
  channel: string
  kind: 'firing' | 'resolved' | 'test' | 'heartbeat'
  state: DeliveryState
  sentence: string
  created: string
  /** When it is tried next. */
  due: string | null
  attempts: number
  log: { at: string; status: number | null; error: string; milliseconds: number | null }[]
  resend_of: string | null
}

export interface Channel {
  id: string
  kind: string
  name: string
  enabled: boolean
  /** The host of its address alone. */
  url: string
  alerts: boolean
  last: Delivery | null
}

/** A list of the API, read again and again. */
function useList<T>(path: MaybeRefOrGetter<string>) {
  const name = computed(() => toValue(path))
  return useQuery({
    queryKey: ['alerting', name, language],
    queryFn: ({ signal }) => getJson<T[]>(name.value, signal),
    refetchInterval: PERIOD_MS,
    shallow: true,
  })
}

export const useAlerts = () => useList<Alert>('/alerts?limit=100')
export const useRules = () => useList<AlertRule>('/alert-rules')
export const useSilences = () => useList<Silence>('/silences')
export const useChannels = () => useList<Channel>('/channels')
export const useDeliveries = (state: MaybeRefOrGetter<DeliveryState | ''>) =>
  useList<Delivery>(() => `/deliveries?${queryText({ limit: 100, ...(toValue(state) ? { state: toValue(state) } : {}) })}`)

/** An action on any of these; all lists are read anew after it. */
export const useAlertAction = () => useAction('alerting')
