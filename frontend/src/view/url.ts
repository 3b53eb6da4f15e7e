/** The view of a host as the query of its address: `t=live-60` follows the newest 60 s, `t=FROM-TO` stands still (ms). */

import type { Span } from '@/time/span'
import { MAX_SPAN_MS, limited } from '@/time/span'

export type View = { live: true; seconds: number } | { live: false; span: Span }

const LIVE = /^live-(\d+(?:\.\d+)?)$/
const FIXED = /^(\d{1,16})-(\d{1,16})$/

/** The view that a query value asks for; null when it says nothing readable. */
export function parseView(text: unknown): View | null {
  if (typeof text !== 'string') return null
  const live = LIVE.exec(text)
  if (live) {
    const seconds = Number(live[1])
    return seconds > 0 && seconds * 1000 <= MAX_SPAN_MS ? { live: true, seconds } : null
  }
  const span = parseSpan(text)
  return span && { live: false, span }
}

/** A span as `FROM-TO` in ms; null when it says nothing readable. */
export function parseSpan(text: unknown): Span | null {
  const fixed = typeof text === 'string' ? FIXED.exec(text) : null
  if (!fixed) return null
  const from = Number(fixed[1])
  const to = Number(fixed[2])
  return to > from ? limited({ from, to }) : null
}

export function spanQuery(span: Span): string {
  return `${Math.round(span.from)}-${Math.round(span.to)}`
}

export function viewText(view: View): string {
  if (view.live) return `live-${Number(view.seconds.toFixed(1))}`
  return spanQuery(view.span)
}

/** A path of this page to return to after login; anything that could lead elsewhere becomes `/`. */
export function safeReturnPath(text: unknown): string {
  if (typeof text !== 'string' || !/^\/(?![/\\])/.test(text) || text.startsWith('/login')) return '/'
  return text
}
