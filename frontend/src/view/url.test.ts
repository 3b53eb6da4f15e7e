import { describe, expect, it } from 'vitest'
import { parseView, safeReturnPath, viewText } from '@/view/url'

describe('view in the address', () => {
  it('survives the way there and back', () => {
    for (const text of ['live-60', 'live-7.5', '1900000000000-1900000020000']) {
      expect(viewText(parseView(text) ?? { live: true, seconds: 1 })).toBe(text)
    }
  })

  it.each(['', 'live-0', 'live--5', '20-10', 'x', '1-2-3', undefined, ['live-60']])('refuses %j', (text) => {
    expect(parseView(text)).toBeNull()
  })
})

describe('way back after login', () => {
  it('leads to a page of this server only', () => {
    expect(safeReturnPath('/host/a?t=live-60')).toBe('/host/a?t=live-60')
    for (const text of ['//elsewhere.example', '/\\elsewhere.example', 'https://elsewhere.example', '/login?next=/', undefined]) {
      expect(safeReturnPath(text)).toBe('/')
    }
  })
})
