// @vitest-environment happy-dom
import { createPinia, setActivePinia } from 'pinia'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { useLiveStore } from '@/live/store'

beforeEach(() => {
  vi.useFakeTimers()
  setActivePinia(createPinia())
})
afterEach(() => vi.useRealTimers())

it('asks for stacks only where an agent is connected, and once at a time', () => {
  const live = useLiveStore()
  const asked: number[] = []
  live.report('live')
  expect(live.canAskStacks).toBe(false)
  live.hear((seconds) => asked.push(seconds))
  live.report('offline')
  expect(live.canAskStacks).toBe(false)
  live.report('waiting')
  expect(live.canAskStacks).toBe(true)
  live.askStacks(10)
  expect([asked, live.askedStacks]).toEqual([[10], true])
  vi.advanceTimersByTime(10_000)
  expect(live.askedStacks).toBe(false)
  live.hear(null)
  expect(live.canAskStacks).toBe(false)
})
