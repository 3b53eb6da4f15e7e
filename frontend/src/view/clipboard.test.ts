import { expect, it } from 'vitest'
import { copiedText, pastedSpan } from '@/view/clipboard'

const SPAN = { from: 1_790_000_000_123, to: 1_790_000_060_000 }

it('pastes what it copies', () => {
  expect(pastedSpan(copiedText(SPAN))).toEqual(SPAN)
})

it.each([
  ['gpu-1@2026-09-21T14:13:20.123Z..2026-09-21T14:14:20Z', SPAN], ['from 2026-09-21T14:13:20.123 to 2026-09-21T14:14:20', SPAN],
  [' 1790000000123-1790000060000\n', SPAN], ['2026-09-21T14:14:20Z..2026-09-21T14:13:20Z', null], ['hello', null],
])('%j', (text, span) => {
  expect(pastedSpan(text)).toEqual(span)
})

const NOW = Date.parse('2026-09-21T15:00:00Z')

it.each([
  ['{"from":"2026-09-21T14:13:20.123Z","to":"2026-09-21T14:14:20.000Z"}', SPAN],
  ['{"from":"2026-09-21 14:13:20.123","to":"2026-09-21 14:14:20"}', SPAN],
  ['{"from":"1790000000123","to":1790000060000}', SPAN],
  ['{"from":"now-1h","to":"now"}', { from: NOW - 3_600_000, to: NOW }],
  ['{"from":"now-2d","to":"now-1d"}', { from: NOW - 2 * 86_400_000, to: NOW - 86_400_000 }],
  ['{"from":"now","to":"now-1h"}', null], ['{"from":"now/d","to":"now"}', null], ['{"from":{},"to":null}', null], ['{}', null], ['null', null], ['[1,2]', null], ['7', null],
])('takes what Grafana copies: %s', (text, span) => {
  expect(pastedSpan(text, NOW)).toEqual(span)
})

it.each([
  '2026-09-21T14:13:20.123Z\n2026-09-21T14:14:20Z', '2026-09-21T16:13:20.123+02:00, 2026-09-21T16:14:20+0200', '2026-09-21 14:13:20.123 to 2026-09-21 14:14:20',
  '"2026-09-21T14:13:20.123Z";"2026-09-21T14:14:20Z"', '2026-09-21T14:13:20.123Z - 2026-09-21T14:14:20Z', '2026-09-21T14:13:20.123Z\t2026-09-21T14:14:20Z',
])('takes pairs of moments as people write them: %j', (text) => {
  expect(pastedSpan(text)).toEqual(SPAN)
})
