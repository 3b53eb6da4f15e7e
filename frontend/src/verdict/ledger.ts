/** Order and figures of the ledger, as the page shows them. */

import type { LedgerRow, RowClass } from '@/api/schema'

const CLASS_ORDER: Record<RowClass, number> = { fault: 0, limit: 1, unused: 2, missing: 3, good: 4 }

/** The verdict's row on top, then faults, limits, unused, missing and good; within a class the dearest first. */
export function orderedLedger(rows: readonly LedgerRow[], verdict: string): LedgerRow[] {
  const rest = (row: LedgerRow): number => (row.cause === verdict ? 0 : 1)
  return [...rows].sort(
    (a, b) => rest(a) - rest(b) || CLASS_ORDER[a.row_class] - CLASS_ORDER[b.row_class] || b.gpu_seconds - a.gpu_seconds,
  )
}

/** Share of the GPU-seconds that no cause explains; time without data is not part of it. */
export function notExplained(rows: readonly LedgerRow[]): number {
  return rows.filter((row) => row.cause === 'unknown').reduce((sum, row) => sum + row.share, 0)
}

/** Share of the GPU-seconds without data. */
export function notMeasured(rows: readonly LedgerRow[]): number {
  return rows.filter((row) => row.cause === 'not_measured').reduce((sum, row) => sum + row.share, 0)
}

/** The row that stands for the verdict, to open it first. */
export function verdictRow(rows: readonly LedgerRow[], cause: string): LedgerRow | null {
  return rows.find((row) => row.cause === cause) ?? null
}
