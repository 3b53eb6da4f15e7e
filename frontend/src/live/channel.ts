/** The page's end of the live worker: starts it for one host, hands over what it tells, and ends it. */

import workerUrl from '@/live/worker?worker&url'
import type { LiveColumns, LiveSeries } from '@/live/keeper'
import type { FromWorker, ToWorker } from '@/live/messages'
import type { AskedAnswer, SocketState } from '@/live/socket'

export interface ChannelHandlers {
  frame(frame: LiveColumns): void
  rings(series: readonly LiveSeries[]): void
  state(state: SocketState): void
  /** Called on each connection after the first: there may be a hole to fill from the store. */
  reconnected(): void
  asked(answer: AskedAnswer): void
  /** The worker itself does not work: nothing live comes from it. */
  failed(): void
}

interface TrustedTypes {
  createPolicy(name: string, rules: { createScriptURL(text: string): string }): { createScriptURL(text: string): string }
}

function ownScript(text: string): string {
  if (text !== workerUrl) throw new TypeError('Only the page\'s own worker is started.')
  return text
}

// The page's policy lets scripts be started through this name alone, and a name be taken once.
const policy = (globalThis as { trustedTypes?: TrustedTypes }).trustedTypes?.createPolicy('app', { createScriptURL: ownScript })

export class LiveChannel {
  private readonly worker: Worker
  private keys: readonly string[] = []

  constructor(host: string, wanted: ReadonlySet<string>, private readonly handlers: ChannelHandlers) {
    this.worker = new Worker(policy?.createScriptURL(workerUrl) ?? ownScript(workerUrl), { type: 'module' })
    this.worker.onmessage = ({ data }: MessageEvent<FromWorker>) => this.received(data)
    this.worker.onerror = () => handlers.failed()
    this.post({ type: 'open', host, wanted: [...wanted] })
  }

  /** Tells the server something; without a connection it is lost. */
  send(message: object): void {
    this.post({ type: 'send', message })
  }

  /** Asks for the samples of some series, each those later than its own time in `since`. */
  ask(keys: readonly string[], since: Float64Array): void {
    this.post({ type: 'ask', keys, since })
  }

  close(): void {
    this.worker.terminate()
  }

  private post(message: ToWorker): void {
    this.worker.postMessage(message)
  }

  private received(message: FromWorker): void {
    const { handlers } = this
    if (message.type === 'frame') {
      this.keys = message.keys ?? this.keys
      handlers.frame({ time: message.time, keys: this.keys, values: message.values })
    } else if (message.type === 'rings') handlers.rings(message.series)
    else if (message.type === 'state') handlers.state(message.state)
    else if (message.type === 'asked') handlers.asked(message.answer)
    else handlers.reconnected()
  }
}
