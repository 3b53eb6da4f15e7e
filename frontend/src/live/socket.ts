/** The live feed of one host: connects, tells its state, hands frames over, and comes back after a loss. */

import type { FeedState, LiveFrame, LiveState } from '@/api/schema'

/** `offline`: the host's agent sends nothing; `unreachable`: the page has no server. */
export type SocketState = FeedState | 'connecting' | 'unreachable'

/** Whether a wish for stacks went to the agent; if not, why. */
export interface AskedAnswer {
  accepted: boolean
  reason: string
}

export interface FeedHandlers {
  asked(answer: AskedAnswer): void
  frame(frame: LiveFrame): void
  state(state: SocketState): void
  /** Called on each connection after the first: there may be a hole to fill from the store. */
  reconnected(): void
}

const FIRST_WAIT_MS = 500
const LONGEST_WAIT_MS = 10_000

export class LiveFeed {
  private socket: WebSocket | null = null
  private timer: ReturnType<typeof setTimeout> | null = null
  private waitMs = FIRST_WAIT_MS
  private connections = 0
  private closed = false

  constructor(
    private readonly host: string,
    private readonly handlers: FeedHandlers,
  ) {}

  open(): void {
    const address = new URL(`/api/v1/live?host=${encodeURIComponent(this.host)}`, globalThis.location.href)
    address.protocol = address.protocol === 'https:' ? 'wss:' : 'ws:'
    this.handlers.state('connecting')
    const socket = new WebSocket(address)
    this.socket = socket
    socket.onopen = () => this.opened()
    socket.onmessage = (event: MessageEvent<unknown>) => this.received(event.data)
    socket.onclose = () => this.lost()
  }

  /** Tells the server something; without a connection it is lost. */
  send(message: object): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message))
  }

  close(): void {
    this.closed = true
    if (this.timer !== null) clearTimeout(this.timer)
    this.socket?.close()
  }

  private opened(): void {
    this.waitMs = FIRST_WAIT_MS
    this.connections += 1
    if (this.connections > 1) this.handlers.reconnected()
  }

  private received(data: unknown): void {
    if (this.closed || typeof data !== 'string') return
    const message = JSON.parse(data) as LiveFrame | LiveState | ({ type: 'asked' } & AskedAnswer)
    if (message.type === 'frame') this.handlers.frame(message)
    else if (message.type === 'state') this.handlers.state(message.state)
    else if (message.type === 'asked') this.handlers.asked({ accepted: message.accepted, reason: message.reason })
  }

  private lost(): void {
    if (this.closed) return
    this.handlers.state('unreachable')
    this.timer = setTimeout(() => this.open(), this.waitMs)
    this.waitMs = Math.min(LONGEST_WAIT_MS, this.waitMs * 2)
  }
}
