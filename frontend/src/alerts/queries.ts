/** Reads of what opens incidents and how often it did, as in backend/gapscope_backend/api/overview_schema.py. */

import { useQuery } from '@tanstack/vue-query'
import { getJson } from '@/api/client'
import type { RowClass } from '@/api/schema'
import { language } from '@/language/words'

const COUNTS_PERIOD_MS = 30_000

export interface IncidentRules {
  drop: {
    window_seconds: number
    level_ratio: number
    baseline_seconds: number
    baseline_drop_ratio: number
    min_duration_seconds: number
    close_after_seconds: number
    recover_margin_ratio: number
    in_use_ratio: number
  }
  cost: { share: number; end_share: number; seconds: number }
  opens_for: RowClass[]
  opens_unexplained: boolean
  merge_seconds: number
  silent_seconds: number
  silent_recording_seconds: number
  major_gpu_seconds: number
  critical_gpu_seconds: number
}

export interface FiredRow {
  host: string
  cause: string
  title: string
  row_class: RowClass
  count: number
  still_open: number
  lost_gpu_seconds: number
}

export interface Fired {
  from_ms: number
  to_ms: number
  step_ms: number
  per_step: number[]
  rows: FiredRow[]
}

export function useIncidentRules() {
  return useQuery({
    queryKey: ['incident-rules'],
    queryFn: ({ signal }) => getJson<IncidentRules>('/incident-rules', signal),
    staleTime: Number.POSITIVE_INFINITY,
    shallow: true,
  })
}

/** What opened in the last 24 hours. */
export function useFired() {
  return useQuery({
    queryKey: ['incidents', 'counts', language],
    queryFn: ({ signal }) => getJson<Fired>('/incident-counts?from=now-1d', signal),
    refetchInterval: COUNTS_PERIOD_MS,
    shallow: true,
  })
}
