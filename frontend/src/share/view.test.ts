import { expect, it } from 'vitest'
import { queryOfView, spanView, viewTextOf } from '@/share/view'

it('opens as it was shared', () => {
  const query = { t: '1-9', tab: 'flame', mode: 'gaps', pin: 'gpu:index-0/active' }
  expect(queryOfView(viewTextOf(query))).toEqual(query)
})

it('shows the span that was shared and keeps the rest of the view', () => {
  const view = queryOfView(spanView({ t: 'live-60', lanes: 'a b', sel: '0-5' }, { from: 1000.4, to: 2000 }))
  expect(view).toEqual({ t: '1000-2000', sel: '1000-2000', lanes: 'a b' })
})

it.each([['', {}], ['t=1-2&t=3-4', { t: '3-4' }], ['x', { x: '' }]])('reads %j', (text, query) => {
  expect(queryOfView(text)).toEqual(query)
})
