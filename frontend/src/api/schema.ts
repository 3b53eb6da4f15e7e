/** Types of the web API, as in backend/gapscope_backend/api/schema.py and analysis/verdict.py. A missing value is null. */

export interface Problem {
  error: string
  detail: string
  where: string
}

export interface SessionInfo {
  user: string
  expires: string
}

export interface MetricInfo {
  name: string
  entity: string
  unit: string
  kind: string
  period_seconds: number
  help: string
  aliases: string[]
}

export type RowClass = 'fault' | 'limit' | 'unused' | 'missing' | 'good'

export interface CauseInfo {
  id: string
  title: string
  row_class: RowClass
  advice: string
  priority: string
}

export interface Catalog {
  metrics: MetricInfo[]
  causes: CauseInfo[]
}

export interface DeviceInfo {
  entity: string
  index: number
  name: string
  uuid: string | null
  memory_total_bytes: number | null
  power_limit_watts: number | null
}

export interface FleetGpu {
  entity: string
  index: number
  name: string
  graphics_active_ratio: number | null
  utilization_ratio: number | null
  power_watts: number | null
  memory_used_bytes: number | null
  memory_total_bytes: number | null
  /** The last minute in 60 steps of a second, oldest first. */
  active_last_minute: (number | null)[]
}

export type HostState = 'live' | 'stale' | 'retired'

export interface HostSummary {
  host: string
  state: HostState
  recorded: boolean
  last_seen: string
  seconds_since_last_seen: number
  logical_cpus: number | null
  cpu_busy_cores: number | null
  gpus: FleetGpu[]
  verdict: string
  sentence: string
  lost_gpu_seconds: number
  open_incidents: number
}

export interface ProcessInfo {
  entity: string
  pid: number
  parent_pid: number | null
  command: string
  user: string | null
  /** Entity keys of the GPUs that it holds. */
  owner_of: string[]
  first_seen: string
  last_seen: string
}

export interface EventInfo {
  time: string
  kind: string
  text: string
  entity: string
}

export interface HostDetail {
  host: string
  state: HostState
  recorded: boolean
  first_data: string
  last_data: string
  logical_cpus: number | null
  agent_version: string
  labels: Record<string, string>
  devices: DeviceInfo[]
  cores: string[]
  processes: ProcessInfo[]
  events: EventInfo[]
  has_stacks: boolean
}

export interface MissingSpan {
  from_ms: number
  to_ms: number
  reason: string
}

export interface SeriesData {
  entity: string
  metric: string
  unit: string
  time_ms: number[]
  mean: (number | null)[]
  min: (number | null)[]
  max: (number | null)[]
  /** Share of a bucket's samples below the gap threshold; ratio series only. */
  idle_share: (number | null)[] | null
  missing: MissingSpan[]
}

export interface SeriesAnswer {
  host: string
  start: string
  end: string
  raw: boolean
  bucket_ms: number | null
  series: SeriesData[]
}

export interface RibbonFunction {
  function: string
  file: string
  line: number
}

export interface RibbonBucket {
  time_ms: number
  /** Index into the answer's functions. */
  function: number
  share: number
  samples: number
  on_cpu_share: number | null
}

export interface RibbonAnswer {
  host: string
  bucket_ms: number
  functions: RibbonFunction[]
  buckets: RibbonBucket[]
  reason: string
}

export interface GapInfo {
  entity: string
  from_ms: number
  to_ms: number
  idle_seconds: number
}

export interface GapsAnswer {
  host: string
  threshold: number
  gaps: GapInfo[]
  total: number
}

export interface NanosecondSpan {
  start_ns: number
  end_ns: number
}

export interface Evidence {
  signal: string
  text: string
  value: number | null
  threshold: number | null
  unit: string
  spans: NanosecondSpan[]
}

export interface Hotspot {
  function: string
  file: string
  line: number
  source: string | null
  share: number
  samples: number
  thread: string
  pid: number
}

export interface LedgerRow {
  cause: string
  title: string
  row_class: RowClass
  gpu_seconds: number
  share: number
  confidence: number
  evidence_for: Evidence[]
  evidence_against: Evidence[]
  would_change: string
  advice: string
  priority: string
  hotspots: Hotspot[]
  /** What following the advice gives back, how that was reckoned, and where thresholds come from; empty or null where unknown. */
  expected_gain: string
  expected_gain_gpu_seconds: number | null
  source: string
}

export interface Level {
  level: string
  name: string
  label: string
  value: number | null
  unit: string
  /** The roof that the work comes nearest to. */
  nearest: boolean
}

export interface JobVerdict {
  job: string
  command: string
  pids: number[]
  gpus: string[]
  verdict: string
  title: string
  gpu_seconds: number
  lost_gpu_seconds: number
  ledger: LedgerRow[]
}

export interface GpuVerdict {
  gpu: string
  index: number
  name: string
  verdict: string
  ledger: LedgerRow[]
  levels: Level[]
  gap_count: number
  gap_seconds: number
  gaps: NanosecondSpan[]
  counter_lag_seconds: number | null
}

export interface Verdict {
  host: string
  start_ns: number
  end_ns: number
  gpu_count: number
  verdict: string
  title: string
  sentence: string
  confidence: number
  lost_gpu_seconds: number
  ledger: LedgerRow[]
  gpus: GpuVerdict[]
  notes: string[]
  jobs: JobVerdict[]
}

export type FeedState = 'live' | 'waiting' | 'offline'

export interface LiveFrame {
  type: 'frame'
  host: string
  time_ms: number
  values: Record<string, Record<string, number | null>>
}

export interface LiveState {
  type: 'state'
  state: FeedState
  detail: string
}
