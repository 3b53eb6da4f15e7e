/** Types of flame graphs, contrasts and comparisons, as in backend/gapscope_backend/analysis/{flame,contrast,compare}/model.py. */

import type { RowClass } from '@/api/schema'

export type FlameWhere = 'all' | 'idle' | 'gaps' | 'outside'
export type FlameBy = 'none' | 'process' | 'thread'

/** A function at a line; a process or thread at the root has no file and line -1. */
export interface FlameFrame {
  function: string
  file: string
  line: number
}

/** The tree in columns, a parent before its children; the other side's columns are empty without a difference. */
export interface FlameColumns {
  frame: number[]
  parent: number[]
  total: number[]
  own: number[]
  other_total: number[]
  other_own: number[]
}

export interface Flame {
  where: string
  against: string | null
  samples: number
  weight: number
  other_weight: number
  known_share: number
  frames: FlameFrame[]
  nodes: FlameColumns
}

export interface IdleHotspot {
  function: string
  file: string
  line: number
  source: string | null
  idle_gpu_seconds: number
  share: number
  samples: number
  thread: string
  pid: number
  cause: string
}

export interface Difference {
  kind: string
  name: string
  detail: string
  unit: string
  in_gaps: number
  in_rest: number
  effect: number
  gap_count: number
  gap_total: number
  rest_count: number
  rest_total: number
  p_value: number | null
  significant: boolean
  follows: boolean
  also: string[]
}

export interface Contrast {
  host: string
  gpu: string
  index: number
  start_ns: number
  end_ns: number
  split: 'idle_share' | 'spans'
  has_contrast: boolean
  sentence: string
  idlest: number | null
  busiest: number | null
  idle_gpu_seconds: number
  level: number
  hotspots: IdleHotspot[]
  functions: Difference[]
  lines: Difference[]
  threads: Difference[]
  processes: Difference[]
  metrics: Difference[]
}

export interface ComparedSide {
  label: string
  host: string
  start_ns: number
  end_ns: number
  gpu_count: number
  verdict: string
  title: string
  sentence: string
  lost_share: number
}

export interface MetricRow {
  level: string
  name: string
  label: string
  unit: string
  values: (number | null)[]
}

export interface LedgerChange {
  cause: string
  title: string
  row_class: RowClass
  shares: number[]
}

export interface FunctionRow {
  function: string
  file: string
  shares: (number | null)[]
  samples: number[]
}

export interface Comparison {
  sides: ComparedSide[]
  sentence: string
  better: string[]
  worse: string[]
  next_limit: string
  metrics: MetricRow[]
  ledger: LedgerChange[]
  functions: FunctionRow[]
  notes: string[]
}
