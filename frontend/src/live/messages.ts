/** What the page and its live worker tell each other. */

import type { LiveSeries } from '@/live/keeper'
import type { AskedAnswer, SocketState } from '@/live/socket'

export type ToWorker =
  | { type: 'open'; host: string; wanted: readonly string[] }
  | { type: 'send'; message: object }
  /** For the samples of some series, each those later than its own time in `since`. */
  | { type: 'ask'; keys: readonly string[]; since: Float64Array }

export type FromWorker =
  | { type: 'state'; state: SocketState }
  | { type: 'reconnected' }
  | { type: 'asked'; answer: AskedAnswer }
  /** `keys` is null where they are those of the frame before. */
  | { type: 'frame'; time: number; keys: readonly string[] | null; values: Float64Array<ArrayBuffer> }
  | { type: 'rings'; series: readonly LiveSeries[] }
