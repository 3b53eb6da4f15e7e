/** The rows of the comparison's tables. */

import type { Comparison, FunctionRow, MetricRow } from '@/api/analysisSchema'
import { percent, quantity } from '@/format/quantity'
import { words } from '@/language/words'
import { shortPath } from '@/timeline/ribbon'

export interface CompareRow {
  key: string
  name: string
  detail?: string
  a: string
  b: string
  change: string
  /** Whether the change is for the better; null where neither is. */
  better: boolean | null
  /** Bars of both sides, 0..1; none where there is no common scale. */
  bars?: readonly [number, number]
}

/** Less than this counts as no change. */
const SMALL_POINTS = 0.005

function points(difference: number): string {
  const value = difference * 100
  if (Math.abs(value) < 0.05) return words.value.compare.points('0')
  const text = Math.abs(value) < 9.95 ? value.toFixed(1) : value.toFixed(0)
  return words.value.compare.points(value > 0 ? `+${text}` : text)
}

function pair<T>(values: readonly T[]): [T | undefined, T | undefined] {
  return [values[0], values.at(-1)]
}

export function ledgerRows({ ledger, better, worse }: Comparison): CompareRow[] {
  return ledger.filter((row) => row.shares.some((share) => share > 0)).map((row) => {
    const [a = 0, b = 0] = pair(row.shares)
    const verdict = better.includes(row.cause) ? true : worse.includes(row.cause) ? false : null
    return { key: row.cause, name: row.title, detail: words.value.rowClass[row.row_class], a: percent(a), b: percent(b), change: points(b - a), better: verdict, bars: [a, b] }
  })
}

function changeOf({ unit }: MetricRow, a: number | null | undefined, b: number | null | undefined): string {
  if (a === null || a === undefined || b === null || b === undefined) return ''
  if (unit === 'ratio') return points(b - a)
  if (a === 0) return ''
  const change = b / a - 1
  return Math.abs(change) < SMALL_POINTS ? percent(0) : `${change > 0 ? '+' : ''}${percent(change)}`
}

export interface MetricGroup {
  level: string
  rows: CompareRow[]
}

export function metricGroups({ metrics }: Comparison): MetricGroup[] {
  const groups = new Map<string, CompareRow[]>()
  for (const row of metrics) {
    const [a, b] = pair(row.values)
    if (a === null && b === null) continue
    const rows = groups.get(row.level) ?? []
    rows.push({ key: row.name, name: row.label, a: quantity(a, row.unit), b: quantity(b, row.unit), change: changeOf(row, a, b), better: null })
    groups.set(row.level, rows)
  }
  return [...groups].map(([level, rows]) => ({ level, rows }))
}

function functionRow(row: FunctionRow): CompareRow {
  const [a, b] = pair(row.shares)
  const known = a !== null && a !== undefined && b !== null && b !== undefined
  return {
    key: row.function + row.file, name: row.function, detail: `${shortPath(row.file)} · ${words.value.compare.samples(row.samples.join(' / '))}`,
    a: percent(a), b: percent(b), change: known ? points(b - a) : '', better: null, bars: [a ?? 0, b ?? 0],
  }
}

export function functionRows({ functions }: Comparison): CompareRow[] {
  return functions.map(functionRow)
}

/** The sentence with A and B in place of hosts and times, which stand above it. */
export function shortSentence({ sentence, sides }: Comparison): string {
  const [a, b] = pair(sides)
  // The longer label first: one may be part of the other.
  const labels = [[a?.label ?? '', 'A'], [b?.label ?? '', 'B']].sort((x, y) => (y[0] ?? '').length - (x[0] ?? '').length)
  return labels.reduce((text, [label, name]) => (label ? text.replaceAll(label, name ?? '') : text), sentence)
}
