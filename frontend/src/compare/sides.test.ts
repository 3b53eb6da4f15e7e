import { expect, it } from 'vitest'
import { inputText, inputTime, parseSide, sideText } from '@/compare/sides'

it('reads what it writes', () => {
  const side = { host: 'gpu-1.example', span: { from: 1_790_000_000_123, to: 1_790_000_060_000 } }
  expect(sideText(side)).toBe('gpu-1.example@2026-09-21T14:13:20.123Z..2026-09-21T14:14:20.000Z')
  expect(parseSide(sideText(side))).toEqual(side)
})

it('reads milliseconds, and times without an offset as UTC', () => {
  expect(parseSide('h@1000..2000')?.span).toEqual({ from: 1000, to: 2000 })
  expect(parseSide('h@1970-01-01T00:00:01..1970-01-01T02:00:02+02:00')?.span).toEqual({ from: 1000, to: 2000 })
})

it.each([undefined, '', 'h', 'h@1..', 'h@2000..1000', 'h@a..b', '@1..2'])('%s is no side', (text) => {
  expect(parseSide(text)).toBeNull()
})

it('goes to an input and back in either zone', () => {
  for (const zone of ['utc', 'local'] as const) expect(inputTime(inputText(1_790_000_000_123, zone), zone)).toBe(1_790_000_000_123)
  expect(inputTime('soon', 'utc')).toBeNull()
})
