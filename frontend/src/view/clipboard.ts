/** Spans of time as text that one can copy from a timeline, send to somebody, and paste on another. */

import type { Span } from '@/time/span'
import { limited } from '@/time/span'
import { parseSpan } from '@/view/url'

const ISO = String.raw`\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:?\d\d)?`
const RANGE = new RegExp(`(${ISO})\\s*(?:\\.\\.|/|–|to)\\s*(${ISO})`)

export function copiedText(span: Span): string {
  return `${new Date(Math.round(span.from)).toISOString()}..${new Date(Math.round(span.to)).toISOString()}`
}

function momentOf(text: string): number {
  return Date.parse(/(Z|[+-]\d\d:?\d\d)$/.test(text) ? text : `${text}Z`)
}

/** The span that a pasted text tells; also found within more text, as `HOST@FROM..TO`. Null where there is none. */
export function pastedSpan(text: string): Span | null {
  const found = RANGE.exec(text)
  if (!found) return parseSpan(text.trim())
  const from = momentOf(found[1] ?? '')
  const to = momentOf(found[2] ?? '')
  return to > from ? limited({ from, to }) : null
}
