import { expect, it } from 'vitest'
import type { FleetGpu, HostSummary } from '@/api/schema'
import { activity, blockAt, CELL_HEIGHT, CELL_WIDTH, layoutGrid } from '@/fleet/grid'
import { filteredHosts, rankedHosts } from '@/fleet/order'

function host(name: string, gpus: number, lost = 0): HostSummary {
  const gpu = (index: number): FleetGpu => ({
    entity: `gpu:${index}`, index, name: 'H200', graphics_active_ratio: 0.5, utilization_ratio: 1, power_watts: 1,
    memory_used_bytes: 1, memory_total_bytes: 2, active_last_minute: [0, 1],
  })
  return {
    host: name, state: 'live', recorded: false, last_seen: '', seconds_since_last_seen: 0, logical_cpus: 8, cpu_busy_cores: 1,
    gpus: Array.from({ length: gpus }, (_, i) => gpu(i)), verdict: 'no_work', sentence: '', lost_gpu_seconds: lost, open_incidents: 0,
  }
}

it('puts a thousand hosts of eight GPUs on one screen, in the order of what they lose', () => {
  const hosts = rankedHosts(Array.from({ length: 1000 }, (_, i) => host(`h${i}`, 8, i)))
  const grid = layoutGrid(hosts, 1400)
  expect(grid.blocks).toHaveLength(1000)
  expect(grid.height).toBeLessThan(700)
  expect(grid.blocks[0]?.host.host).toBe('h999')
  expect(Math.max(...grid.blocks.map((block) => block.left + block.width))).toBeLessThanOrEqual(1400)
})

it('finds the host under the pointer and nothing between hosts', () => {
  const grid = layoutGrid([host('a', 2), host('b', 1)], 400)
  const second = grid.blocks[1]
  expect(blockAt(grid, (second?.left ?? 0) + 1, 1)?.host.host).toBe('b')
  expect(blockAt(grid, 2 * CELL_WIDTH + 1, 1)).toBeNull()
  expect(blockAt(grid, 1, CELL_HEIGHT + 1)).toBeNull()
})

it('tells the mean of what is known', () => {
  expect(activity([null, 0.2, 0.4])).toBeCloseTo(0.3)
  expect(activity([null])).toBeNull()
})

it('filters a large fleet by name', () => {
  const hosts = Array.from({ length: 1000 }, (_, i) => host(`gpu-${i}`, 8))
  expect(filteredHosts(hosts, 'gpu-99').map((item) => item.host)).toHaveLength(11)
})
