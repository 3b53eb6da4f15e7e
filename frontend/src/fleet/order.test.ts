import { expect, it } from 'vitest'
import type { HostState, HostSummary } from '@/api/schema'
import { filteredHosts, rankedHosts } from '@/fleet/order'

function host(name: string, lost: number, state: HostState = 'live'): HostSummary {
  return {
    host: name, state, recorded: name === 'demo', last_seen: '', seconds_since_last_seen: 0, logical_cpus: 8, cpu_busy_cores: 1,
    gpus: [], verdict: 'no_work', sentence: 'Nobody asks.', lost_gpu_seconds: lost, open_incidents: 0,
  }
}
const hosts = [host('b', 1), host('old', 99, 'retired'), host('demo', 50), host('a', 1)]

it('puts the host that loses most first and retired ones last', () => {
  expect(rankedHosts(hosts).map((item) => item.host)).toEqual(['demo', 'a', 'b', 'old'])
})

it('filters by every word', () => {
  expect(filteredHosts(hosts, 'RECORDED no_work').map((item) => item.host)).toEqual(['demo'])
  expect(filteredHosts(hosts, 'absent')).toEqual([])
  expect(filteredHosts(hosts, ' ')).toHaveLength(4)
})
