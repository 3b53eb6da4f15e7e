/** Spans of time as text that one can copy from a timeline, send to somebody, and paste on another. */

import type { Span } from '@/time/span'
import { limited } from '@/time/span'
import { parseSpan } from '@/view/url'

const ISO = String.raw`\d{4}-\d\d-\d\d[T ]\d\d:\d\d[\d:.]*(?:Z|[+-]\d\d:?\d\d)?`
/** What may stand between two moments; whoever copies rows of a table has a tab or a new line there. */
const BETWEEN = String.raw`["']?\s*(?:\.\.|/|–|—|-|,|;|to|until|\s)\s*["']?`
const RANGE = new RegExp(`(${ISO})${BETWEEN}(${ISO})`)
const RELATIVE = /^now(?:-(\d{1,6})(s|m|h|d|w))?$/
const UNITS_MS: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }

export function copiedText(span: Span): string {
  return `${new Date(Math.round(span.from)).toISOString()}..${new Date(Math.round(span.to)).toISOString()}`
}

/** Without a zone it is UTC. */
function momentOf(text: string): number {
  const iso = text.replace(' ', 'T')
  return Date.parse(/(Z|[+-]\d\d:?\d\d)$/.test(iso) ? iso : `${iso}Z`)
}

/** A moment as Grafana copies it: ISO, milliseconds, or `now-6h`; NaN for anything else. */
function grafanaMoment(value: unknown, now: number): number {
  if (typeof value === 'number') return value
  if (typeof value !== 'string') return Number.NaN
  const relative = RELATIVE.exec(value)
  if (relative) return now - Number(relative[1] ?? 0) * (UNITS_MS[relative[2] ?? 's'] as number)
  return /^\d{10,16}$/.test(value) ? Number(value) : momentOf(value)
}

/** `{"from": ..., "to": ...}`, as Grafana copies a time range; null for other texts. */
function grafanaSpan(text: string, now: number): Span | null {
  try {
    const told = JSON.parse(text) as { from?: unknown; to?: unknown } | null
    return told && typeof told === 'object' ? { from: grafanaMoment(told.from, now), to: grafanaMoment(told.to, now) } : null
  } catch {
    return null
  }
}

/**
 * The span that a pasted text tells: two moments, also within more text, as `HOST@FROM..TO`; `FROM-TO` in ms; or what
 * Grafana copies. Null where there is none.
 */
export function pastedSpan(text: string, now = Date.now()): Span | null {
  const found = RANGE.exec(text)
  const range = found ? { from: momentOf(found[1] ?? ''), to: momentOf(found[2] ?? '') } : grafanaSpan(text, now)
  if (!range) return parseSpan(text.trim())
  return range.to > range.from ? limited(range) : null
}
