/** Which hosts the fleet page shows and in what order, now and in a past minute. */

import type { HostSummary } from '@/api/schema'
import { activity } from '@/fleet/activity'
import type { PastHost } from '@/fleet/schema'

export type FleetOrder = 'lost' | 'active' | 'name'

export function isFleetOrder(text: unknown): text is FleetOrder {
  return text === 'lost' || text === 'active' || text === 'name'
}

const STATE_ORDER = { live: 0, stale: 0, retired: 1 } as const

type Compare<T> = (a: T, b: T) => number

/** Lower first; what is not known comes last. */
function rising(a: number | null, b: number | null): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1
  return a - b
}

const byName: Compare<{ host: string }> = (a, b) => a.host.localeCompare(b.host, undefined, { numeric: true })

/** Most lost GPU-seconds first (or least active, or by name); retired hosts last in any case. */
export function rankedHosts(hosts: readonly HostSummary[], order: FleetOrder = 'lost'): HostSummary[] {
  const lost: Compare<HostSummary> = (a, b) => b.lost_gpu_seconds - a.lost_gpu_seconds || b.gpus.length - a.gpus.length
  const means = order === 'active' ? new Map(hosts.map((host) => [host, activity(host.gpus.flatMap((gpu) => gpu.active_last_minute))])) : null
  const active: Compare<HostSummary> = (a, b) => rising(means?.get(a) ?? null, means?.get(b) ?? null)
  const chosen = { lost, active, name: byName }[order]
  return [...hosts].sort((a, b) => STATE_ORDER[a.state] - STATE_ORDER[b.state] || chosen(a, b) || byName(a, b))
}

/** Most idle GPU-seconds first (or least active, or by name); hosts without data last. */
export function rankedPast(hosts: readonly PastHost[], order: FleetOrder): PastHost[] {
  const mean = (host: PastHost): number | null => activity(host.gpus.map((gpu) => gpu.active_mean_ratio))
  const lost: Compare<PastHost> = (a, b) => rising(a.idle_gpu_seconds === null ? null : -a.idle_gpu_seconds, b.idle_gpu_seconds === null ? null : -b.idle_gpu_seconds)
  const chosen = { lost, active: (a: PastHost, b: PastHost) => rising(mean(a), mean(b)), name: byName }[order]
  return [...hosts].sort((a, b) => chosen(a, b) || byName(a, b))
}

/** Things in whose text every word of the filter occurs. */
function filtered<T>(items: readonly T[], filter: string, textOf: (item: T) => string[]): T[] {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean)
  if (!words.length) return [...items]
  return items.filter((item) => {
    const text = textOf(item).join(' ').toLowerCase()
    return words.every((word) => text.includes(word))
  })
}

/** Hosts in which every word of the filter occurs: in name, state, verdict, sentence or a GPU's name. */
export function filteredHosts(hosts: readonly HostSummary[], filter: string): HostSummary[] {
  return filtered(hosts, filter, (host) => [
    host.host, host.state, host.recorded ? 'recorded' : '', host.verdict, host.sentence, ...host.gpus.map((gpu) => gpu.name),
  ])
}

/** The same in a past minute: in name, a GPU's name, or an incident of then. */
export function filteredPast(hosts: readonly PastHost[], filter: string): PastHost[] {
  return filtered(hosts, filter, (host) => [
    host.host, host.recorded ? 'recorded' : '', ...host.gpus.map((gpu) => gpu.name),
    ...host.incidents.flatMap((incident) => [incident.cause, incident.title, incident.sentence]),
  ])
}
