/** Types of the fleet in a past minute, as in backend/gapscope_backend/api/overview_schema.py. */

import type { Severity } from '@/api/incidentSchema'
import type { RowClass } from '@/api/schema'

export interface PastGpu {
  entity: string
  index: number
  name: string
  active_mean_ratio: number | null
  /** Share of the samples below 10 %. */
  idle_ratio: number | null
  utilization_mean_ratio: number | null
  power_mean_watts: number | null
}

export interface PastIncident {
  id: string
  cause: string
  title: string
  row_class: RowClass
  severity: Severity
  sentence: string
}

export interface PastHost {
  host: string
  recorded: boolean
  /** Its batches of then are stored, but not summed up yet. */
  waiting: boolean
  gpus: PastGpu[]
  idle_gpu_seconds: number | null
  incidents: PastIncident[]
}

export interface FleetMinute {
  minute_ms: number | null
  hosts: PastHost[]
}

export interface FleetBounds {
  oldest_ms: number | null
  newest_ms: number | null
}
