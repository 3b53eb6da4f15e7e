// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { LiveFrame } from '@/api/schema'
import { LiveFeed } from '@/live/socket'

class FakeSocket {
  static made: FakeSocket[] = []
  onopen: (() => void) | null = null
  onmessage: ((event: { data: unknown }) => void) | null = null
  onclose: (() => void) | null = null

  constructor(readonly address: URL) {
    FakeSocket.made.push(this)
  }

  close(): void {
    this.onclose?.()
  }
}

const frames: LiveFrame[] = []
const states: string[] = []
const asked = vi.fn()
const reconnected = vi.fn()

function open(): LiveFeed {
  const feed = new LiveFeed('a b', { frame: (frame) => frames.push(frame), state: (state) => states.push(state), asked, reconnected })
  feed.open()
  return feed
}

beforeEach(() => {
  vi.useFakeTimers()
  vi.stubGlobal('WebSocket', FakeSocket)
  frames.length = 0
  states.length = 0
  FakeSocket.made.length = 0
  reconnected.mockClear()
})

afterEach(() => {
  vi.unstubAllGlobals()
  vi.useRealTimers()
})

it('hands frames and states over', () => {
  open()
  const socket = FakeSocket.made[0]
  expect(socket?.address.href).toMatch(/^ws:.*\/api\/v1\/live\?host=a%20b$/)
  socket?.onopen?.()
  socket?.onmessage?.({ data: JSON.stringify({ type: 'state', state: 'waiting', detail: 'no agent' }) })
  socket?.onmessage?.({ data: JSON.stringify({ type: 'frame', host: 'a b', time_ms: 5, values: {} }) })
  socket?.onmessage?.({ data: JSON.stringify({ type: 'asked', accepted: false, reason: 'no_agent' }) })
  expect(asked).toHaveBeenCalledWith({ accepted: false, reason: 'no_agent' })
  expect(states).toEqual(['connecting', 'waiting'])
  expect(frames[0]?.time_ms).toBe(5)
})

it('comes back after a loss and says that there may be a hole', () => {
  open()
  FakeSocket.made[0]?.onopen?.()
  expect(reconnected).not.toHaveBeenCalled()
  FakeSocket.made[0]?.onclose?.()
  expect(states.at(-1)).toBe('unreachable')
  vi.advanceTimersByTime(500)
  FakeSocket.made[1]?.onopen?.()
  expect(reconnected).toHaveBeenCalledOnce()
})

it('waits longer each time that it fails', () => {
  open()
  FakeSocket.made[0]?.onclose?.()
  vi.advanceTimersByTime(500)
  FakeSocket.made[1]?.onclose?.()
  vi.advanceTimersByTime(999)
  expect(FakeSocket.made).toHaveLength(2)
  vi.advanceTimersByTime(1)
  expect(FakeSocket.made).toHaveLength(3)
})

it('stays away once it was closed', () => {
  open().close()
  vi.advanceTimersByTime(60_000)
  expect(FakeSocket.made).toHaveLength(1)
})
