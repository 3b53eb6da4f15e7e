/** From gap to gap, in time order, relative to what is on the screen. */

import type { GapInfo } from '@/api/schema'
import type { Span } from '@/time/span'
import { contains, padded, widthOf } from '@/time/span'

/** Room around a gap that is jumped to, as a share of its length. */
const ROOM = 0.6
/** Cells begin where the asked span begins, so the same gap may lie up to two cells of 100 ms elsewhere in another answer. */
const SHIFT_MS = 200
/** A view narrower than this shows too little around a gap to say what it waits for. */
const MIN_VIEW_MS = 2000
/** Series of one host arrive at different times; the newest of a live host is whole only after so long. */
const UNSETTLED_MS = 2000

function middle(span: Span): number {
  return (span.from + span.to) / 2
}

/** The gap whose middle lies next after (`direction` 1) or before (-1) the middle of the view; none at the ends. */
export function neighbourGap(gaps: readonly GapInfo[], view: Span, direction: 1 | -1): GapInfo | null {
  const here = middle(view)
  /** The view was centred on this gap: it must not be found again. */
  const isHere = (gap: GapInfo): boolean => contains(spanOf(gap), here) && Math.abs(middle(spanOf(gap)) - here) <= SHIFT_MS
  let best: GapInfo | null = null
  for (const gap of gaps) {
    const distance = (middle(spanOf(gap)) - here) * direction
    if (distance <= 0 || isHere(gap)) continue
    if (best === null || distance < (middle(spanOf(best)) - here) * direction) best = gap
  }
  return best
}

/** Gaps that end before the newest data of a live host: what lies at its edge may have no end yet, or be no gap. */
export function settledGaps(gaps: readonly GapInfo[], newest: number): GapInfo[] {
  return gaps.filter((gap) => gap.to_ms <= newest - UNSETTLED_MS)
}

/** The shortest gap that holds a moment: the one that a view was centred on. */
export function gapAt(gaps: readonly GapInfo[], time: number): GapInfo | null {
  const there = gaps.filter((gap) => contains(spanOf(gap), time))
  return there.reduce<GapInfo | null>((best, gap) => (best && widthOf(spanOf(best)) <= widthOf(spanOf(gap)) ? best : gap), null)
}

export function spanOf(gap: GapInfo): Span {
  return { from: gap.from_ms, to: gap.to_ms }
}

/** What to show of a gap: itself and some room, to see what came before and after. */
export function gapView(gap: GapInfo): Span {
  const span = padded(spanOf(gap), ROOM)
  const lacking = Math.max(0, MIN_VIEW_MS - widthOf(span)) / 2
  return { from: span.from - lacking, to: span.to + lacking }
}

/** Longest first; earlier first among equals. */
export function longestFirst(gaps: readonly GapInfo[]): GapInfo[] {
  return [...gaps].sort((a, b) => b.to_ms - b.from_ms - (a.to_ms - a.from_ms) || a.from_ms - b.from_ms)
}
