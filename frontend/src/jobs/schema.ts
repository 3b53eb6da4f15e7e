/** Types of jobs, as in backend/gapscope_backend/api/job_schema.py and analysis/ranks.py. */

import type { Hotspot, JobVerdict, LedgerRow } from '@/api/schema'

export interface RankFigures {
  pid: number
  command: string
  /** Entity keys of the GPUs that it holds. */
  gpus: string[]
  active_ratio: number | null
  sm_active_ratio: number | null
  sm_ratio: number | null
  memory_bytes: number | null
  cpu_cores: number | null
  workers: number
  worker_cores: number | null
  gap_seconds: number
  hotspot: Hotspot | null
}

export interface JobRank {
  process: RankFigures
  rank: number | null
  local_rank: number | null
}

export interface JobGpu {
  entity: string
  index: number
  name: string
  verdict: string
  gap_count: number
  gap_seconds: number
  /** Other jobs held it too. */
  shared: boolean
}

export interface JobPart {
  host: string
  verdict: JobVerdict
  gpus: JobGpu[]
  ranks: JobRank[]
}

export interface JobDetail {
  job: string
  command: string
  start: string
  end: string
  verdict: string
  title: string
  gpu_seconds: number
  lost_gpu_seconds: number
  ledger: LedgerRow[]
  parts: JobPart[]
  world_size: number | null
  missing_ranks: number[]
  master: string
  unsure_hosts: string[]
  more_hosts: number
  requests: null
}
