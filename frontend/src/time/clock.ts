/** Times of day in UTC or local time; milliseconds where the view is under a minute. */

import type { Span } from '@/time/span'
import { widthOf } from '@/time/span'

export type Zone = 'local' | 'utc'

interface Parts {
  date: string
  hours: number
  minutes: number
  seconds: number
  milliseconds: number
}

const two = (value: number): string => String(value).padStart(2, '0')

function partsOf(time: number, zone: Zone): Parts {
  const at = new Date(time)
  const utc = zone === 'utc'
  const year = utc ? at.getUTCFullYear() : at.getFullYear()
  const month = (utc ? at.getUTCMonth() : at.getMonth()) + 1
  const day = utc ? at.getUTCDate() : at.getDate()
  return {
    date: `${year}-${two(month)}-${two(day)}`,
    hours: utc ? at.getUTCHours() : at.getHours(),
    minutes: utc ? at.getUTCMinutes() : at.getMinutes(),
    seconds: utc ? at.getUTCSeconds() : at.getSeconds(),
    milliseconds: utc ? at.getUTCMilliseconds() : at.getMilliseconds(),
  }
}

/** Time of day as exact as `stepMs` needs: `14:05`, `14:05:03` or `14:05:03.200`. */
export function timeOfDay(time: number, zone: Zone, stepMs: number): string {
  const parts = partsOf(Math.round(time), zone)
  const minutes = `${two(parts.hours)}:${two(parts.minutes)}`
  if (stepMs >= 60_000) return minutes
  const seconds = `${minutes}:${two(parts.seconds)}`
  if (stepMs >= 1000) return seconds
  return `${seconds}.${String(parts.milliseconds).padStart(3, '0')}`
}

/** Label of an axis tick: the date at midnight, else the time of day. */
export function tickLabel(time: number, zone: Zone, stepMs: number): string {
  const parts = partsOf(time, zone)
  const midnight = parts.hours === 0 && parts.minutes === 0 && parts.seconds === 0 && parts.milliseconds === 0
  return midnight && stepMs >= 60_000 ? parts.date : timeOfDay(time, zone, stepMs)
}

export function dateOf(time: number, zone: Zone): string {
  return partsOf(time, zone).date
}

/** `2030-01-31 14:05:03`, or as exact as `stepMs` needs. */
export function momentText(time: number, zone: Zone, stepMs = 1000): string {
  return `${dateOf(time, zone)} ${timeOfDay(time, zone, stepMs)}`
}

/** How exact to write times of a span: milliseconds below a minute. */
export function precisionOf(span: Span): number {
  return widthOf(span) < 60_000 ? 1 : 1000
}

/** `2030-01-31 14:05:03.200 – 14:05:23.200`; the date once when both ends share it. */
export function spanText(span: Span, zone: Zone): string {
  const precision = precisionOf(span)
  const start = `${dateOf(span.from, zone)} ${timeOfDay(span.from, zone, precision)}`
  const sameDay = dateOf(span.from, zone) === dateOf(span.to, zone)
  const end = timeOfDay(span.to, zone, precision)
  return `${start} – ${sameDay ? end : `${dateOf(span.to, zone)} ${end}`}`
}

/** Local time minus UTC at that moment, in ms. */
export function zoneOffset(time: number, zone: Zone): number {
  return zone === 'utc' ? 0 : -new Date(time).getTimezoneOffset() * 60_000
}
