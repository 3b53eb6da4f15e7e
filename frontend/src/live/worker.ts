/**
 * Reads the live socket of a host and keeps its rings, away from the thread that draws: a long drawing neither slows the
 * socket down, so that the server would drop frames, nor loses samples.
 */

import { LiveKeeper } from '@/live/keeper'
import type { FromWorker, ToWorker } from '@/live/messages'
import { LiveFeed } from '@/live/socket'

interface Port {
  postMessage(message: FromWorker, transfer?: Transferable[]): void
  onmessage: ((event: MessageEvent<ToWorker>) => void) | null
}

const port = globalThis as unknown as Port
let feed: LiveFeed | null = null
let keeper = new LiveKeeper(new Set())
let told = ''

function open(host: string, wanted: readonly string[]): void {
  keeper = new LiveKeeper(new Set(wanted))
  feed = new LiveFeed(host, {
    state: (state) => port.postMessage({ type: 'state', state }),
    reconnected: () => port.postMessage({ type: 'reconnected' }),
    asked: (answer) => port.postMessage({ type: 'asked', answer }),
    frame: (frame) => {
      const columns = keeper.take(frame)
      if (!columns) return
      const { time, keys, values } = columns
      const names = keys.join('\n')
      port.postMessage({ type: 'frame', time, keys: names === told ? null : keys, values }, [values.buffer])
      told = names
    },
  })
  feed.open()
}

port.onmessage = ({ data }) => {
  if (data.type === 'open') open(data.host, data.wanted)
  else if (data.type === 'send') feed?.send(data.message)
  else {
    const series = keeper.since(data.keys, data.since)
    port.postMessage({ type: 'rings', series }, series.flatMap(({ samples }) => [samples.times.buffer, samples.values.buffer]))
  }
}
