/** What the page and its live worker tell each other. */

import type { LiveSeries } from '@/live/keeper'
import type { AskedAnswer, SocketState } from '@/live/socket'

export type ToWorker =
  | { type: 'open'; host: string; wanted: readonly string[] }
  | { type: 'send'; message: object }
  /** For the samples of some series that are later than `since`. */
  | { type: 'ask'; keys: readonly string[]; since: number }

export type FromWorker =
  | { type: 'state'; state: SocketState }
  | { type: 'reconnected' }
  | { type: 'asked'; answer: AskedAnswer }
  /** `keys` is null where they are those of the frame before. */
  | { type: 'frame'; time: number; keys: readonly string[] | null; values: Float64Array<ArrayBuffer> }
  | { type: 'rings'; series: readonly LiveSeries[] }
