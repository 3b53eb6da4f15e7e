/** Types of incidents and annotations, as in backend/gapscope_backend/api/{incident,annotation}_schema.py. */

import type { Hotspot, RowClass, Verdict } from '@/api/schema'

export type Severity = 'minor' | 'major' | 'critical'
export type IncidentState = 'open' | 'closed'

export interface IncidentRow {
  cause: string
  title: string
  row_class: RowClass
  gpu_seconds: number
  share: number
  confidence: number
  hotspot: Hotspot | null
}

export interface IncidentSummary {
  id: string
  host: string
  gpus: string[]
  state: IncidentState
  severity: Severity
  cause: string
  row_class: RowClass
  sentence: string
  confidence: number
  start: string
  /** How far it reached so far. */
  end: string
  end_reason: string
  seconds: number
  lost_gpu_seconds: number
  ledger: IncidentRow[]
  acknowledged: string | null
  acknowledged_by: string
  comments: number
  /** Who looks after it; empty for nobody. */
  assigned_to: string
}

export interface IncidentSpan {
  from_ms: number
  to_ms: number
  text: string
}

export interface IncidentEpisode {
  gpu: string
  kind: 'drop' | 'costly'
  from_ms: number
  to_ms: number
  ongoing: boolean
}

export interface IncidentComment {
  time: string
  user: string
  text: string
}

/** That somebody gave an incident to a person; `to` is empty where it was taken from one. */
export interface IncidentAssignment {
  time: string
  user: string
  to: string
}

/** `verdict` is frozen; of a long incident it covers the newest part, the summary's ledger all of it. */
export interface IncidentDetail {
  summary: IncidentSummary
  spans: IncidentSpan[]
  episodes: IncidentEpisode[]
  comments: IncidentComment[]
  assignments: IncidentAssignment[]
  pinned_until: string | null
  verdict: Verdict
}

/** `to_ms` is `at_ms` where it is about a moment. */
export interface AnnotationInfo {
  id: string
  at_ms: number
  to_ms: number
  kind: string
  text: string
  made: string
  made_by: string
}
