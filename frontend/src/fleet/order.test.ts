import { expect, it } from 'vitest'
import type { FleetGpu, HostState, HostSummary } from '@/api/schema'
import { filteredHosts, filteredPast, rankedHosts, rankedPast } from '@/fleet/order'
import type { PastHost } from '@/fleet/schema'

function host(name: string, lost: number, state: HostState = 'live', active: number | null = 0.5): HostSummary {
  const gpu: FleetGpu = {
    entity: 'gpu:0', index: 0, name: 'H200', graphics_active_ratio: active, utilization_ratio: 1, power_watts: 1,
    memory_used_bytes: 1, memory_total_bytes: 2, active_last_minute: [active],
  }
  return {
    host: name, state, recorded: name === 'demo', last_seen: '', seconds_since_last_seen: 0, logical_cpus: 8, cpu_busy_cores: 1,
    gpus: [gpu], verdict: 'no_work', sentence: 'Nobody asks.', lost_gpu_seconds: lost, open_incidents: 0,
  }
}
const hosts = [host('b', 1, 'live', 0.9), host('old', 99, 'retired', 0.01), host('demo', 50, 'stale', null), host('a', 1, 'live', 0.2)]

function past(name: string, idle: number | null, active: number | null): PastHost {
  return {
    host: name, recorded: false, waiting: false, idle_gpu_seconds: idle,
    gpus: [{ entity: 'gpu:0', index: 0, name: 'H200', active_mean_ratio: active, idle_ratio: null, utilization_mean_ratio: null, power_mean_watts: null }],
    incidents: name === 'p2' ? [{ id: '1', cause: 'io_wait', title: 'waits for storage', row_class: 'fault', severity: 'minor', sentence: 'GPU 0 waited.' }] : [],
  }
}
const before = [past('p1', 5, 0.6), past('none', null, null), past('p10', 5, 0.1), past('p2', 60, 0.3)]

it('puts the host that loses most first and retired ones last', () => {
  expect(rankedHosts(hosts).map((item) => item.host)).toEqual(['demo', 'a', 'b', 'old'])
})

it('orders by activity, what is unknown after what is known, and by name', () => {
  expect(rankedHosts(hosts, 'active').map((item) => item.host)).toEqual(['a', 'b', 'demo', 'old'])
  expect(rankedHosts(hosts, 'name').map((item) => item.host)).toEqual(['a', 'b', 'demo', 'old'])
})

it('puts hosts without data last in a past minute', () => {
  expect(rankedPast(before, 'lost').map((item) => item.host)).toEqual(['p2', 'p1', 'p10', 'none'])
  expect(rankedPast(before, 'active').map((item) => item.host)).toEqual(['p10', 'p2', 'p1', 'none'])
  expect(rankedPast(before, 'name').map((item) => item.host)).toEqual(['none', 'p1', 'p2', 'p10'])
})

it('filters by every word', () => {
  expect(filteredHosts(hosts, 'RECORDED no_work').map((item) => item.host)).toEqual(['demo'])
  expect(filteredHosts(hosts, 'absent')).toEqual([])
  expect(filteredHosts(hosts, ' ')).toHaveLength(4)
  expect(filteredPast(before, 'storage gpu').map((item) => item.host)).toEqual(['p2'])
})

it('filters a large fleet by name', () => {
  const large = Array.from({ length: 1000 }, (_, i) => host(`gpu-${i}`, 8))
  expect(filteredHosts(large, 'gpu-99')).toHaveLength(11)
})
