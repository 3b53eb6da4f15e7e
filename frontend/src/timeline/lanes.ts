/** Which curves stand in which lane. A new lane of lines is one entry here. */

import type { DeviceInfo, HostDetail, ProcessInfo } from '@/api/schema'
import { words } from '@/language/words'

export type CurveStyle = 'area' | 'line' | 'thin'

export interface Curve {
  entity: string
  metric: string
  label: string
  /** End of the label that is never cut off, as the pid that tells workers of one name apart. */
  tail: string
  /** Name of a colour token, as `series-1`. */
  colour: string
  style: CurveStyle
}

export interface LaneDefinition {
  name: string
  /** What the address calls it. */
  key: string
  title: string
  help: string
  unit: string
  /** Top of the scale; null: what the visible values need. */
  ceiling: number | null
  /** Without a ceiling, the scale reaches at least this, so that next to nothing looks like it. */
  floor: number
  height: number
  /** Entity whose idleness is hatched behind the curves. */
  idleOf: string | null
  /** No value says something itself (a process that was not among the busiest), so it is not marked as missing. */
  absenceIsData: boolean
  curves: Curve[]
}

/** PCIe lanes show at least this: a few MB/s are no traffic. */
const PCIE_FLOOR = 100e6
const ACTIVE = 'gpu_graphics_active_ratio'
/** Processes shown at most in the lane of processes. */
const MAX_PROCESSES = 5

function curve(entity: string, metric: string, label: string, colour: string, style: CurveStyle = 'line', tail = ''): Curve {
  return { entity, metric, label, tail, colour, style }
}

export function activeLane(gpu: DeviceInfo): LaneDefinition {
  const { lanes } = words.value
  return {
    name: 'active',
    key: `gpu${gpu.index}`,
    title: `GPU ${gpu.index}`,
    help: lanes.activeHelp,
    unit: 'ratio',
    ceiling: 1,
    floor: 1,
    height: 104,
    idleOf: gpu.entity,
    absenceIsData: false,
    curves: [
      curve(gpu.entity, ACTIVE, lanes.active, 'series-1', 'area'),
      curve(gpu.entity, 'gpu_utilization_ratio', lanes.utilization, 'series-plain', 'thin'),
    ],
  }
}

export function detailLanes(gpu: DeviceInfo): LaneDefinition[] {
  const at = gpu.entity
  const { lanes } = words.value
  const lane = (name: string, title: string, help: string, unit: string, ceiling: number | null, curves: Curve[]) => ({
    name, key: `gpu${gpu.index}-${name}`, title, help, unit, ceiling, floor: unit === 'bytes/s' ? PCIE_FLOOR : 0, height: curves.length > 2 ? 76 : 60,
    idleOf: null, absenceIsData: false, curves,
  })
  return [
    lane('pipelines', lanes.pipelines, lanes.pipelinesHelp, 'ratio', 1, [
      curve(at, 'gpu_sm_active_ratio', lanes.smActive, 'series-3'),
      curve(at, 'gpu_tensor_active_ratio', lanes.tensor, 'series-4'),
      curve(at, 'gpu_dram_active_ratio', lanes.dram, 'series-2'),
    ]),
    lane('pcie', 'PCIe', lanes.pcieHelp, 'bytes/s', null, [
      curve(at, 'pcie_rx_bytes_per_second', lanes.receive, 'series-3'),
      curve(at, 'pcie_tx_bytes_per_second', lanes.transmit, 'series-5'),
    ]),
    lane('power', lanes.power, lanes.powerHelp, 'watts', gpu.power_limit_watts, [
      curve(at, 'gpu_power_watts', lanes.powerCurve, 'series-2', 'area'),
    ]),
    lane('memory', lanes.memory, lanes.memoryHelp, 'bytes', gpu.memory_total_bytes, [
      curve(at, 'gpu_memory_used_bytes', lanes.used, 'series-4', 'area'),
    ]),
    lane('clocks', lanes.clocks, lanes.clocksHelp, 'hertz', null, [
      curve(at, 'gpu_sm_clock_hertz', lanes.smClock, 'series-3'),
      curve(at, 'gpu_memory_clock_hertz', lanes.memoryClock, 'series-4'),
    ]),
  ]
}

export function shortCommand(command: string): string {
  const words = command.split(/\s+/).filter(Boolean)
  const base = (word: string): string => word.split('/').at(-1) ?? word
  const first = base(words[0] ?? '')
  const option = words.findIndex((word, i) => i > 0 && (word === '-c' || word === '-m'))
  const script = words.slice(1).find((word) => !word.startsWith('-'))
  if (/^(python|pypy)/.test(first) && option > 0 && words[option] === '-c') return `${first} -c`
  return /^(python|pypy|node|ruby|java|bash|sh)/.test(first) && script ? base(script) : first
}

/** Owners of a GPU first, then the busiest by `load`. */
export function shownProcesses(processes: readonly ProcessInfo[], load: (entity: string) => number): ProcessInfo[] {
  const rank = (process: ProcessInfo): number => (process.owner_of.length ? 1 : 0)
  return [...processes]
    .filter((process) => process.owner_of.length || load(process.entity) > 0)
    .sort((a, b) => rank(b) - rank(a) || load(b.entity) - load(a.entity) || a.pid - b.pid)
    .slice(0, MAX_PROCESSES)
}

export function processLane(processes: readonly ProcessInfo[]): LaneDefinition {
  return {
    name: 'processes',
    key: 'processes',
    title: words.value.lanes.processes,
    help: words.value.lanes.processesHelp,
    unit: 'cores',
    ceiling: null,
    floor: 1,
    height: Math.max(60, 28 + 16 * processes.length),
    idleOf: null,
    absenceIsData: true,
    curves: processes.map((process, i) =>
      curve(process.entity, 'process_cpu_cores', shortCommand(process.command), `series-${(i % 6) + 1}`, 'line', String(process.pid)),
    ),
  }
}

export function gpuMetrics(): string[] {
  const any: DeviceInfo = { entity: '', index: 0, name: '', uuid: null, memory_total_bytes: null, power_limit_watts: null }
  return [activeLane(any), ...detailLanes(any)].flatMap((lane) => lane.curves.map((item) => item.metric))
}

/** Metrics that live frames are kept for. */
export function liveMetrics(): Set<string> {
  return new Set([...gpuMetrics(), 'cpu_core_busy_ratio', 'cpu_busy_cores', 'process_cpu_cores'])
}

export function boundsOf(detail: HostDetail): { from: number; to: number } {
  return { from: Date.parse(detail.first_data), to: Date.parse(detail.last_data) }
}
