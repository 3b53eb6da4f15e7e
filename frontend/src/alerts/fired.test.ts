import { expect, it } from 'vitest'
import { summed } from '@/alerts/fired'
import type { FiredRow } from '@/alerts/queries'

const row = (host: string, cause: string, count: number, still_open: number, lost: number): FiredRow => ({
  host, cause, title: `waits: ${cause}`, row_class: 'fault', count, still_open, lost_gpu_seconds: lost,
})
const rows = [row('a', 'io_wait', 2, 1, 10), row('b', 'io_wait', 1, 0, 5), row('a', 'h2d_copy', 3, 0, 90)]

it('adds up causes over hosts and hosts over causes', () => {
  expect(summed(rows, 'cause').map((sum) => [sum.key, sum.count, sum.stillOpen, sum.lost])).toEqual([['h2d_copy', 3, 0, 90], ['io_wait', 3, 1, 15]])
  expect(summed(rows, 'host').map((sum) => [sum.title, sum.count, sum.rowClass])).toEqual([['a', 5, null], ['b', 1, null]])
  expect(summed([], 'host')).toEqual([])
  expect(summed([{ ...row('a', 'newer_cause', 1, 0, 1), title: '' }], 'cause')[0]?.title).toBe('newer_cause')
})
