/** Spans of time in milliseconds since the epoch, half-open, and what zooming and panning do to them. */

export interface Span {
  from: number
  to: number
}

/** The narrowest span that the timeline shows: two cells of 100 ms. */
export const MIN_SPAN_MS = 200
/** The widest: a week. */
export const MAX_SPAN_MS = 7 * 24 * 3600 * 1000

export function widthOf(span: Span): number {
  return span.to - span.from
}

export function sameSpan(a: Span, b: Span): boolean {
  return a.from === b.from && a.to === b.to
}

/** Puts the ends in order and keeps the width within the limits, around the middle. */
export function limited(span: Span): Span {
  const from = Math.min(span.from, span.to)
  const to = Math.max(span.from, span.to)
  const width = to - from
  const wanted = Math.min(MAX_SPAN_MS, Math.max(MIN_SPAN_MS, width))
  if (wanted === width) return { from, to }
  const middle = (from + to) / 2
  return { from: middle - wanted / 2, to: middle + wanted / 2 }
}

/** Zooms by `factor` (below 1 is closer) and keeps the moment `at` where it is. */
export function zoomed(span: Span, factor: number, at: number): Span {
  const width = Math.min(MAX_SPAN_MS, Math.max(MIN_SPAN_MS, widthOf(span) * factor))
  const position = (at - span.from) / widthOf(span)
  return { from: at - position * width, to: at + (1 - position) * width }
}

/** Moves by a share of the width; negative is towards the past. */
export function panned(span: Span, share: number): Span {
  const by = widthOf(span) * share
  return { from: span.from + by, to: span.to + by }
}

/** Keeps at least a part (a tenth) of the span over `bounds`, so that nobody gets lost in empty time. */
export function keptNear(span: Span, bounds: Span): Span {
  const margin = widthOf(span) * 0.1
  if (span.to < bounds.from + margin) return shifted(span, bounds.from + margin - span.to)
  if (span.from > bounds.to - margin) return shifted(span, bounds.to - margin - span.from)
  return span
}

export function shifted(span: Span, by: number): Span {
  return { from: span.from + by, to: span.to + by }
}

export function clipped(span: Span, bounds: Span): Span {
  const from = Math.min(Math.max(span.from, bounds.from), bounds.to)
  const to = Math.max(Math.min(span.to, bounds.to), from)
  return { from, to }
}

export function contains(span: Span, time: number): boolean {
  return time >= span.from && time < span.to
}

/** A span with `pad` (share of its width) around it, to show where it lies. */
export function padded(span: Span, pad: number): Span {
  const by = Math.max(widthOf(span) * pad, MIN_SPAN_MS / 2)
  return { from: span.from - by, to: span.to + by }
}

/**
 * Length of a bucket that is at least `pixels` wide. Powers of two from the epoch on: buckets stay where they are while
 * the view moves, so that a moving view does not flicker.
 */
export function bucketLength(visible: Span, plotWidth: number, pixels: number): number {
  return 2 ** Math.max(0, Math.ceil(Math.log2((widthOf(visible) * pixels) / Math.max(plotWidth, 1))))
}

/**
 * The span to ask the server for: the visible one and about a quarter more on each side (and `reach` ms), on a grid of
 * powers of two (no finer than `grid`), so that small pans need no new request.
 */
export function requestSpan(visible: Span, reach = 0, grid = 1): Span {
  const from = visible.from - reach
  const to = visible.to + reach
  const step = Math.max(grid, 2 ** Math.ceil(Math.log2((to - from) / 4)))
  return { from: Math.floor(from / step - 0.5) * step, to: Math.ceil(to / step + 0.5) * step }
}

/** What to show first: everything when it is short, else its end. */
export function initialSpan(bounds: Span, wholeUpToMs = 5 * 60_000, otherwiseMs = 60_000): Span {
  if (widthOf(bounds) <= wholeUpToMs) return limited(bounds)
  return { from: bounds.to - otherwiseMs, to: bounds.to }
}
