/** The fleet as cells, now and in a past minute. */

import type { HostSummary } from '@/api/schema'
import { activity } from '@/fleet/activity'
import type { GridHost } from '@/fleet/grid'
import type { PastHost } from '@/fleet/schema'
import { gpuSeconds, percent } from '@/format/quantity'
import { words } from '@/language/words'

const TOLD_GPUS = 8

function listed(cells: readonly (number | null)[]): string {
  const shown = cells.slice(0, TOLD_GPUS).map((value) => percent(value)).join('  ')
  return cells.length > TOLD_GPUS ? `${shown} …` : shown
}

/** Each GPU by the mean of its last minute. */
export function liveBoard(hosts: readonly HostSummary[]): GridHost[] {
  return hosts.filter((host) => host.gpus.length).map((host) => {
    const cells = host.gpus.map((gpu) => activity(gpu.active_last_minute))
    const told = words.value.fleet.gridHost(host.host, listed(cells), gpuSeconds(host.lost_gpu_seconds))
    return { host: host.host, quiet: host.state !== 'live', cells, gpus: host.gpus.map((gpu) => gpu.index), told: host.state === 'live' ? told : `${told} (${words.value.hostState[host.state]})` }
  })
}

/** Each GPU by its mean in that minute. */
export function pastBoard(hosts: readonly PastHost[]): GridHost[] {
  const { board } = words.value
  return hosts.filter((host) => host.gpus.length).map((host) => {
    const cells = host.gpus.map((gpu) => gpu.active_mean_ratio)
    const nothing = host.waiting ? board.waiting : board.nothing
    const told = host.idle_gpu_seconds === null ? `${host.host}: ${nothing}` : board.pastHost(host.host, listed(cells), gpuSeconds(host.idle_gpu_seconds))
    return { host: host.host, quiet: false, cells, gpus: host.gpus.map((gpu) => gpu.index), told }
  })
}
