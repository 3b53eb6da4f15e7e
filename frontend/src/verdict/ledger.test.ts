import { expect, it } from 'vitest'
import type { LedgerRow, RowClass } from '@/api/schema'
import { notExplained, notMeasured, orderedLedger, verdictRow } from '@/verdict/ledger'

function row(cause: string, rowClass: RowClass, share: number): LedgerRow {
  return {
    cause, title: cause, row_class: rowClass, gpu_seconds: share * 20, share, confidence: 0.5, evidence_for: [],
    evidence_against: [], would_change: '', advice: '', priority: '', hotspots: [], expected_gain: '', expected_gain_gpu_seconds: null, source: '',
  }
}
const rows = [
  row('healthy', 'good', 0.4), row('unknown', 'missing', 0.05), row('h2d_copy', 'fault', 0.1),
  row('cpu_preprocess', 'fault', 0.33), row('not_measured', 'missing', 0.02), row('memory_bound', 'limit', 0.1),
]

it('puts the verdict on top, then what can be fixed, the dearest first', () => {
  expect(orderedLedger(rows, 'memory_bound').map((item) => item.cause)).toEqual([
    'memory_bound', 'cpu_preprocess', 'h2d_copy', 'unknown', 'not_measured', 'healthy',
  ])
})

it('keeps what is not explained apart from what is not measured', () => {
  expect(notExplained(rows)).toBe(0.05)
  expect(notMeasured(rows)).toBe(0.02)
  expect(notExplained([])).toBe(0)
})

it('finds the row of the verdict', () => {
  expect(verdictRow(rows, 'memory_bound')?.row_class).toBe('limit')
  expect(verdictRow(rows, 'gil_contention')).toBeNull()
})
