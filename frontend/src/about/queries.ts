/** The server and its agents, as in backend/gapscope_backend/api/overview_schema.py. */

import { useQuery } from '@tanstack/vue-query'
import { getJson } from '@/api/client'
import type { HostState } from '@/api/schema'

const PERIOD_MS = 10_000

export interface AgentInfo {
  host: string
  state: HostState
  recorded: boolean
  version: string
  same_version: boolean
  logical_cpus: number | null
  cpu_cores: number | null
  stacks_cpu_cores: number | null
  resident_bytes: number | null
  sampled: number
  delivered: number
  waiting: number
  dropped: Record<string, number>
  unaccounted: number
}

export interface About {
  version: string
  wire_version: number
  database: { engine: string; version: string; size_bytes: number | null }
  agents: AgentInfo[]
}

export function useAbout() {
  return useQuery({ queryKey: ['about'], queryFn: ({ signal }) => getJson<About>('/about', signal), refetchInterval: PERIOD_MS, shallow: true })
}
