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

/** Neighbouring buckets with the same function, waiting or working alike, as one run. */
export function ribbonRuns(ribbon: RibbonAnswer): RibbonRun[] {
  const runs: RibbonRun[] = []
  for (const bucket of ribbon.buckets) {
    const waiting = bucket.on_cpu_share !== null && bucket.on_cpu_share < ON_CPU
    const last = runs.at(-1)
    const touches = last && Math.abs(bucket.time_ms - last.to) < ribbon.bucket_ms / 2
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

function weighed(a: number, aWeight: number, b: number, bWeight: number): number {
  const all = aWeight + bWeight
  return all ? (a * aWeight + b * bWeight) / all : a
}

/** The last two parts of a path, enough to know a file by. */
export function shortPath(path: string): string {
  return path.split('/').slice(-2).join('/')
}
