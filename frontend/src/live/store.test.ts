// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { useLiveStore } from '@/live/store'
import { forgetShared } from '@/preferences/shared'

beforeEach(() => {
  vi.useFakeTimers()
  forgetShared()
})
afterEach(() => vi.useRealTimers())

it('asks for stacks, waits for the answer, and tells for how long they are taken', () => {
  const live = useLiveStore()
  const asked: number[] = []
  live.hear((seconds) => asked.push(seconds))
  live.report('live')
  live.askStacks(10)
  expect([asked, live.wish.state]).toEqual([[10], 'asking'])
  live.answered({ accepted: true, reason: '' })
  vi.advanceTimersByTime(9999)
  expect(live.wish.state).toBe('taking')
  vi.advanceTimersByTime(1)
  expect(live.wish.state).toBe('none')
})

it.each([['no_agent', 'no_agent'], ['not_logged_in', 'not_logged_in'], ['something new', 'other']])('tells the reason %s of the server', (reason, told) => {
  const live = useLiveStore()
  live.hear(() => undefined)
  live.report('offline')
  live.askStacks(10)
  live.answered({ accepted: false, reason })
  expect(live.wish).toEqual({ state: 'refused', reason: told })
})

it('knows by itself where nobody can be asked', () => {
  const live = useLiveStore()
  live.report('live')
  live.askStacks(10)
  expect(live.wish).toEqual({ state: 'refused', reason: 'recorded' })
  live.hear(() => undefined)
  expect(live.wish.state).toBe('none')
  live.askStacks(10)
  live.report('unreachable')
  expect(live.wish).toEqual({ state: 'refused', reason: 'unreachable' })
  live.answered({ accepted: true, reason: '' })
  expect(live.wish.state).toBe('refused')
})
