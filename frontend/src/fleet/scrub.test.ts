import { describe, expect, it } from 'vitest'
import { incidentBeside, MINUTE_MS, momentAt, parseMoment, scrubbed, scrubSpan } from '@/fleet/scrub'

const HOUR = 60 * MINUTE_MS
const START = 1_000 * HOUR
const bounds = { from: START, to: START + 48 * HOUR }
const end = bounds.to + MINUTE_MS

describe('the span', () => {
  it('ends with the newest minute and is as long as the range', () => {
    expect(scrubSpan(bounds, '1h', null)).toEqual({ from: end - HOUR, to: end + 0.02 * HOUR })
    expect(scrubSpan(bounds, '24h', end - 2 * HOUR).from).toBe(end - 24 * HOUR)
  })

  it('does not go far beyond what is stored', () => {
    expect(end - scrubSpan(bounds, '7d', null).from).toBeCloseTo((48 * HOUR + MINUTE_MS) * 1.1)
    expect(scrubSpan({ from: START, to: START }, '24h', null).from).toBe(START - 9 * MINUTE_MS)
  })

  it('lies around a moment that it would leave out', () => {
    const at = START + HOUR
    expect(scrubSpan(bounds, '6h', at)).toEqual({ from: at - 3 * HOUR, to: at + 3 * HOUR })
  })
})

describe('moving', () => {
  const span = { from: end - HOUR, to: end + 2 * MINUTE_MS }
  const at = (position: number): number | null => momentAt(span, bounds.to, position)
  const key = (from: number | null, name: string): number | null | undefined => scrubbed(span, bounds.to, from, name)

  it('by the pointer falls on minutes; after the newest it is now', () => {
    expect(at(0.5)).toBe(end - 29 * MINUTE_MS)
    expect(at(0.501)).toBe(end - 29 * MINUTE_MS)
    expect(at(-1)).toBe(span.from)
    expect(at(0.96)).toBe(bounds.to)
    expect(at(0.98)).toBeNull()
  })

  it('by keys', () => {
    expect(key(null, 'ArrowLeft')).toBe(bounds.to)
    expect(key(bounds.to, 'ArrowRight')).toBeNull()
    expect(key(bounds.to, 'ArrowLeft')).toBe(bounds.to - MINUTE_MS)
    expect(key(bounds.to, 'PageDown')).toBe(bounds.to - 3 * MINUTE_MS)
    expect(key(span.from, 'ArrowLeft')).toBe(span.from)
    expect(key(null, 'Home')).toBe(span.from)
    expect(key(span.from, 'End')).toBeNull()
    expect(key(null, 'x')).toBeUndefined()
    expect(key(null, 'ArrowRight')).toBeNull()
  })

  it('to the incident before and after', () => {
    const starts = [START + 90_000, START + 10 * MINUTE_MS]
    expect(incidentBeside(starts, null, -1)).toBe(START + 10 * MINUTE_MS)
    expect(incidentBeside(starts, START + 10 * MINUTE_MS, -1)).toBe(START + MINUTE_MS)
    expect(incidentBeside(starts, START + MINUTE_MS, 1)).toBe(START + 10 * MINUTE_MS)
    expect(incidentBeside(starts, START + MINUTE_MS, -1)).toBeNull()
    expect(incidentBeside(starts, null, 1)).toBeNull()
  })
})

it.each([['90000', 60_000], ['x', null], [undefined, null], ['-5', null], ['', null]])('a moment in the address: %j', (text, moment) => {
  expect(parseMoment(text)).toBe(moment)
})
