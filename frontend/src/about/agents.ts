/** Agents put together: what they cost, what they dropped, which run another version. */

import type { AgentInfo } from '@/about/queries'

export interface Fleetwide {
  /** Means over those that told; null: none did. */
  cpuCores: number | null
  residentBytes: number | null
  dropped: number
  unaccounted: number
  /** Versions other than the server's with their number of agents, most frequent first. */
  others: { version: string; count: number }[]
}

export function droppedBy(agent: AgentInfo): number {
  return Object.values(agent.dropped).reduce((sum, count) => sum + count, 0)
}

function mean(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null)
  return known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : null
}

export function fleetwide(agents: readonly AgentInfo[]): Fleetwide {
  const others = new Map<string, number>()
  for (const agent of agents) if (!agent.same_version) others.set(agent.version, (others.get(agent.version) ?? 0) + 1)
  return {
    cpuCores: mean(agents.map((agent) => agent.cpu_cores)),
    residentBytes: mean(agents.map((agent) => agent.resident_bytes)),
    dropped: agents.reduce((sum, agent) => sum + droppedBy(agent), 0),
    unaccounted: agents.reduce((sum, agent) => sum + agent.unaccounted, 0),
    others: [...others].map(([version, count]) => ({ version, count })).sort((a, b) => b.count - a.count || a.version.localeCompare(b.version)),
  }
}

/** Those first that need somebody: values lost or dropped, another version; then the costliest. */
export function rankedAgents(agents: readonly AgentInfo[]): AgentInfo[] {
  return [...agents].sort((a, b) =>
    Math.abs(b.unaccounted) - Math.abs(a.unaccounted) || droppedBy(b) - droppedBy(a) || Number(a.same_version) - Number(b.same_version) ||
    (b.cpu_cores ?? -1) - (a.cpu_cores ?? -1) || a.host.localeCompare(b.host))
}
