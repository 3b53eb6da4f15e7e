/** Which hosts the fleet page shows and in what order. */

import type { HostSummary } from '@/api/schema'

const STATE_ORDER = { live: 0, stale: 0, retired: 1 } as const

/** Most lost GPU-seconds first, retired hosts last, then by name. */
export function rankedHosts(hosts: readonly HostSummary[]): HostSummary[] {
  return [...hosts].sort(
    (a, b) =>
      STATE_ORDER[a.state] - STATE_ORDER[b.state] ||
      b.lost_gpu_seconds - a.lost_gpu_seconds ||
      b.gpus.length - a.gpus.length ||
      a.host.localeCompare(b.host),
  )
}

/** Hosts in which every word of the filter occurs: in name, state, verdict, sentence or a GPU's name. */
export function filteredHosts(hosts: readonly HostSummary[], filter: string): HostSummary[] {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean)
  return hosts.filter((host) => {
    const text = [
      host.host, host.state, host.recorded ? 'recorded' : '', host.verdict, host.sentence, ...host.gpus.map((gpu) => gpu.name),
    ].join(' ').toLowerCase()
    return words.every((word) => text.includes(word))
  })
}
