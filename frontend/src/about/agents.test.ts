import { expect, it } from 'vitest'
import { fleetwide, rankedAgents } from '@/about/agents'
import type { AgentInfo } from '@/about/queries'

const agent = (host: string, more: Partial<AgentInfo> = {}): AgentInfo => ({
  host, state: 'live', recorded: false, version: '1.0', same_version: true, logical_cpus: 8, cpu_cores: 0.02, stacks_cpu_cores: null,
  resident_bytes: 100, sampled: 10, delivered: 10, waiting: 0, dropped: {}, unaccounted: 0, ...more,
})
const agents = [
  agent('plain'), agent('dear', { cpu_cores: 0.1, resident_bytes: null }), agent('old', { version: '0.9', same_version: false }),
  agent('full', { dropped: { queue_full: 3, refused: 1 } }), agent('leaky', { unaccounted: 2 }), agent('silent', { cpu_cores: null }),
]

it('adds up what was dropped and takes means over those that told', () => {
  expect(fleetwide(agents)).toEqual({ cpuCores: (0.02 * 4 + 0.1) / 5, residentBytes: 100, dropped: 4, unaccounted: 2, others: [{ version: '0.9', count: 1 }] })
  expect(fleetwide([])).toEqual({ cpuCores: null, residentBytes: null, dropped: 0, unaccounted: 0, others: [] })
})

it('puts those first that need somebody', () => {
  expect(rankedAgents(agents).map((one) => one.host)).toEqual(['leaky', 'full', 'old', 'dear', 'plain', 'silent'])
})
