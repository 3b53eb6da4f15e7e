/** Counts of incidents put together by cause or by host. */

import type { RowClass } from '@/api/schema'
import type { FiredRow } from '@/alerts/queries'

export interface FiredSum {
  key: string
  title: string
  rowClass: RowClass | null
  count: number
  stillOpen: number
  lost: number
}

/** One row for each cause or host, the most frequent first, then the dearest. */
export function summed(rows: readonly FiredRow[], by: 'cause' | 'host'): FiredSum[] {
  const sums = new Map<string, FiredSum>()
  for (const row of rows) {
    const sum = sums.get(row[by]) ?? { key: row[by], title: by === 'cause' ? row.title || row.cause : row.host, rowClass: by === 'cause' ? row.row_class : null, count: 0, stillOpen: 0, lost: 0 }
    sum.count += row.count
    sum.stillOpen += row.still_open
    sum.lost += row.lost_gpu_seconds
    sums.set(row[by], sum)
  }
  return [...sums.values()].sort((a, b) => b.count - a.count || b.lost - a.lost || a.title.localeCompare(b.title))
}
