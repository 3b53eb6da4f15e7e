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
