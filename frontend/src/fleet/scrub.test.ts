import { describe, expect, it } from 'vitest'
import { incidentBeside, MINUTE_MS, momentAt, parseMoment, scrubbed, scrubSpan } from '@/fleet/scrub'

const HOUR = 60 * MINUTE_MS
const START = 1_000 * HOUR
const bounds = { from: START, to: START + 48 * HOUR }
const end = bounds.to + MINUTE_MS

describe('the span', () => {
  it('ends with the newest minute and is as long as the range', () => {
    expect(scrubSpan(bounds, '1h', null)).toEqual({ from: end - HOUR, to: end })
    expect(scrubSpan(bounds, '24h', end - 2 * HOUR)).toEqual({ from: end - 24 * HOUR, to: end })
  })

  it('does not go far beyond what is stored', () => {
    const { from, to } = scrubSpan(bounds, '7d', null)
    expect(to - from).toBeCloseTo((48 * HOUR + MINUTE_MS) * 1.1)
    expect(scrubSpan({ from: START, to: START }, '24h', null)).toEqual({ from: START + MINUTE_MS - 10 * MINUTE_MS, to: START + MINUTE_MS })
  })

  it('lies around a moment that it would leave out', () => {
    const at = START + HOUR
    expect(scrubSpan(bounds, '6h', at)).toEqual({ from: at - 3 * HOUR, to: at + 3 * HOUR })
  })
})

describe('moving', () => {
  const span = { from: end - HOUR, to: end }

  it('by the pointer falls on minutes; the end is now', () => {
    expect(momentAt(span, 0.5)).toBe(end - 30 * MINUTE_MS)
    expect(momentAt(span, 0.501)).toBe(end - 30 * MINUTE_MS)
    expect(momentAt(span, -1)).toBe(span.from)
    expect(momentAt(span, 1)).toBeNull()
  })

  it('by keys', () => {
    expect(scrubbed(span, null, 'ArrowLeft')).toBe(bounds.to)
    expect(scrubbed(span, bounds.to, 'ArrowRight')).toBeNull()
    expect(scrubbed(span, bounds.to, 'ArrowLeft')).toBe(bounds.to - MINUTE_MS)
    expect(scrubbed(span, bounds.to, 'PageDown')).toBe(bounds.to - 3 * MINUTE_MS)
    expect(scrubbed(span, span.from, 'ArrowLeft')).toBe(span.from)
    expect(scrubbed(span, null, 'Home')).toBe(span.from)
    expect(scrubbed(span, span.from, 'End')).toBeNull()
    expect(scrubbed(span, null, 'x')).toBeUndefined()
    expect(scrubbed(span, null, 'ArrowRight')).toBeNull()
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
