/** Runs of the top stack function, and the colours that functions keep while they are on the screen. */

import type { RibbonAnswer, RibbonFunction } from '@/api/schema'
import type { Span } from '@/time/span'

/** Colours of the ribbon; later functions share the last. All carry dark text. */
export const RIBBON_COLOURS = ['#f2b872', '#8fc1f5', '#9ed7a4', '#d9b3f2', '#f3a5ad', '#e3dc7e', '#8fd6d6', '#c9b79c', '#c3cad3'] as const
export const RIBBON_TEXT = '#16202b'

/** On-CPU share from which a run counts as working rather than waiting. */
const ON_CPU = 0.5

export interface RibbonRun extends Span {
  function: number
  samples: number
  /** Mean share of the samples, weighed by them. */
  share: number
  onCpu: number | null
  waiting: boolean
}

export interface RankedFunction extends RibbonFunction {
  index: number
  /** Share of the buckets that it tops. */
  share: number
  colour: string
}

/** Functions by the share of buckets that they top, the commonest first, with their colours. */
export function rankedFunctions(ribbon: RibbonAnswer): RankedFunction[] {
  const counts = new Map<number, number>()
  for (const bucket of ribbon.buckets) counts.set(bucket.function, (counts.get(bucket.function) ?? 0) + 1)
  return [...counts.entries()]
    .sort((a, b) => b[1] - a[1] || a[0] - b[0])
    .flatMap(([index, count], rank) => {
      const known = ribbon.functions[index]
      const colour = RIBBON_COLOURS[Math.min(rank, RIBBON_COLOURS.length - 1)] as string
      return known ? [{ ...known, index, share: count / ribbon.buckets.length, colour }] : []
    })
}

/** Stacks are taken every 50 to 100 ms, seldomer on a busy host: a sample stands until the next within this. */
const BRIDGED_MS = 500

/**
 * Neighbouring buckets with the same function, waiting or working alike, as one run. Buckets shorter than the pace of
 * sampling are often empty: a run reaches to the next one near it.
 */
export function ribbonRuns(ribbon: RibbonAnswer): RibbonRun[] {
  const runs: RibbonRun[] = []
  const reach = Math.max(ribbon.bucket_ms / 2, BRIDGED_MS)
  for (const bucket of ribbon.buckets) {
    const waiting = bucket.on_cpu_share !== null && bucket.on_cpu_share < ON_CPU
    const last = runs.at(-1)
    const touches = last !== undefined && bucket.time_ms - last.to < reach
    if (touches) last.to = bucket.time_ms
    if (last && touches && last.function === bucket.function && last.waiting === waiting) {
      const all = last.samples + bucket.samples
      last.share = weighed(last.share, last.samples, bucket.share, bucket.samples)
      last.onCpu = bucket.on_cpu_share === null ? last.onCpu : weighed(last.onCpu ?? 0, last.samples, bucket.on_cpu_share, bucket.samples)
      last.samples = all
      last.to = bucket.time_ms + ribbon.bucket_ms
    } else {
      runs.push({
        from: bucket.time_ms,
        to: bucket.time_ms + ribbon.bucket_ms,
        function: bucket.function,
        samples: bucket.samples,
        share: bucket.share,
        onCpu: bucket.on_cpu_share,
        waiting,
      })
    }
  }
  return runs
}

/**
 * Runs too short to be told apart on the screen, joined until they are `minMs` long and named by the function that most of
 * their samples show. Longer runs keep their edges; what is joined comes apart when one zooms in.
 */
export function readableRuns(runs: readonly RibbonRun[], minMs: number): RibbonRun[] {
  const out: RibbonRun[] = []
  let group: RibbonRun[] = []

  function flush(): void {
    if (group.length) out.push(joined(group))
    group = []
  }

  for (const run of runs) {
    const before = group.at(-1)
    if (before && run.from !== before.to) flush()
    if (run.to - run.from >= minMs) {
      flush()
      out.push(run)
      continue
    }
    group.push(run)
    if (run.to - (group[0] as RibbonRun).from >= minMs) flush()
  }
  flush()
  return together(out)
}

/** Neighbours that came to show the same are one. */
function together(runs: readonly RibbonRun[]): RibbonRun[] {
  const out: RibbonRun[] = []
  for (const run of runs) {
    const last = out.at(-1)
    if (last && last.to === run.from && last.function === run.function && last.waiting === run.waiting) out[out.length - 1] = joined([last, run])
    else out.push(run)
  }
  return out
}

/** One run from neighbours: its function tops most samples; its share counts those of this function alone. */
function joined(runs: readonly RibbonRun[]): RibbonRun {
  const first = runs[0] as RibbonRun
  if (runs.length === 1) return first
  const counts = new Map<number, number>()
  for (const run of runs) counts.set(run.function, (counts.get(run.function) ?? 0) + run.share * run.samples)
  const [top, topCount] = [...counts.entries()].reduce((a, b) => (b[1] > a[1] ? b : a))
  const own = runs.filter((run) => run.function === top)
  const samples = runs.reduce((sum, run) => sum + run.samples, 0)
  const known = own.filter((run) => run.onCpu !== null)
  const weight = known.reduce((sum, run) => sum + run.samples, 0)
  const onCpu = weight ? known.reduce((sum, run) => sum + (run.onCpu ?? 0) * run.samples, 0) / weight : null
  return {
    from: first.from,
    to: (runs.at(-1) as RibbonRun).to,
    function: top,
    samples,
    share: samples ? topCount / samples : 0,
    onCpu,
    waiting: onCpu !== null && onCpu < ON_CPU,
  }
}

function weighed(a: number, aWeight: number, b: number, bWeight: number): number {
  const all = aWeight + bWeight
  return all ? (a * aWeight + b * bWeight) / all : a
}

/** The last two parts of a path, enough to know a file by. */
export function shortPath(path: string): string {
  return path.split('/').slice(-2).join('/')
}
