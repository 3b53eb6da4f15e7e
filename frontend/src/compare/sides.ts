/** What is compared: a host and a span on each side, as `HOST@FROM..TO` in the address. */

import type { Zone } from '@/time/clock'
import { dateOf, timeOfDay } from '@/time/clock'
import type { Span } from '@/time/span'

export interface ComparedSpan {
  host: string
  span: Span
}

/** A side that is being written: something of it may be missing. */
export interface DraftSide extends Partial<Span> {
  host?: string
}

const SIDE = /^([^@]+)@(.+)\.\.(.+)$/

/** A moment as ms since the epoch or as ISO 8601, which is UTC without an offset; null when it is neither. */
function momentOf(text: string): number | null {
  if (/^\d{1,16}(\.\d+)?$/.test(text)) return Number(text)
  const time = Date.parse(/(Z|[+-]\d\d:?\d\d)$/i.test(text) ? text : `${text}Z`)
  return Number.isNaN(time) ? null : time
}

export function parseSide(text: unknown): ComparedSpan | null {
  const found = typeof text === 'string' ? SIDE.exec(text) : null
  if (!found) return null
  const from = momentOf(found[2] ?? '')
  const to = momentOf(found[3] ?? '')
  return from !== null && to !== null && to > from ? { host: found[1] ?? '', span: { from, to } } : null
}

/** Times to the millisecond in a form that people can read in the address. */
export function sideText({ host, span }: ComparedSpan): string {
  const iso = (time: number): string => new Date(Math.round(time)).toISOString()
  return `${host}@${iso(span.from)}..${iso(span.to)}`
}

/** A moment as the value of a `datetime-local` input, and back. */
export function inputText(time: number, zone: Zone): string {
  return `${dateOf(time, zone)}T${timeOfDay(time, zone, 1)}`
}

export function inputTime(text: string, zone: Zone): number | null {
  const time = Date.parse(zone === 'utc' ? `${text}Z` : text)
  return Number.isNaN(time) ? null : time
}
