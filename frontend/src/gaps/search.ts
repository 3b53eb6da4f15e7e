/** Looks for a gap beyond the gaps that are known, a window of the server's after the other. */

import type { GapInfo } from '@/api/schema'
import { neighbourGap } from '@/gaps/navigation'
import type { Span } from '@/time/span'
import { clipped, widthOf } from '@/time/span'

/** The server lists gaps of a day at most. */
export const MAX_GAP_SPAN_MS = 24 * 3_600_000

/** The server's cells begin where the span begins: on one grid a gap is the same in every answer. */
const CELL_MS = 100

/** A span with no whole cell in it gets the one that it ends in: none is asked about empty. */
export function onGrid({ from, to }: Span): Span {
  const last = (Math.ceil(to / CELL_MS) - 1) * CELL_MS
  return { from: Math.min(Math.ceil(from / CELL_MS) * CELL_MS, last), to }
}

/** The part of a span that the server answers about: all of it, else a day around the middle of the view. */
export function gapWindow(span: Span, view: Span): Span {
  if (widthOf(span) <= MAX_GAP_SPAN_MS) return span
  const middle = (view.from + view.to) / 2
  const from = Math.min(Math.max(span.from, middle - MAX_GAP_SPAN_MS / 2), span.to - MAX_GAP_SPAN_MS)
  return { from, to: from + MAX_GAP_SPAN_MS }
}

/** The windows from `edge` to the end of the data that way, in the order in which to look. */
export function* windowsFrom(edge: number, data: Span, direction: 1 | -1): Generator<Span> {
  let at = edge
  while (direction === 1 ? at < data.to : at > data.from) {
    const next = at + direction * MAX_GAP_SPAN_MS
    yield clipped(direction === 1 ? { from: at, to: next } : { from: next, to: at }, data)
    at = next
  }
}

/** The nearest gap beyond `known` in one direction; null where there is none. `read` may fail, and the search with it. */
export async function searchGap(
  read: (span: Span) => Promise<readonly GapInfo[]>,
  known: Span,
  { view, data, direction }: { view: Span; data: Span; direction: 1 | -1 },
): Promise<GapInfo | null> {
  for (const window of windowsFrom(direction === 1 ? known.to : known.from, data, direction)) {
    const gap = neighbourGap(await read(window), view, direction)
    if (gap) return gap
  }
  return null
}
