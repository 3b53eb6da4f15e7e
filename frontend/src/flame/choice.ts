/** What a reader chose of a flame graph, and the query that it makes. */

import type { FlameBy, FlameWhere } from '@/api/analysisSchema'
import type { FlameQuery } from '@/api/queries'
import type { FlameOrder } from '@/flame/layout'
import type { FlameMode } from '@/language/enAnalysis'

export const FLAME_MODES: readonly FlameMode[] = ['all', 'idle', 'gaps', 'outside', 'difference']
export const FLAME_BYS: readonly FlameBy[] = ['none', 'process', 'thread']

/** Boxes below this share are left out by the server; on a screen of 2000 pixels they are no pixel wide. */
const MIN_SHARE = 0.0004
/** In the order of time a single sample is a box, and a zoom shows it. */
const MIN_TIME_SHARE = 0.00005

export interface FlameChoice {
  mode: FlameMode
  by: FlameBy
  onCpu: boolean
  /** Each sample where it was taken, thread by thread, instead of all of a function in one. */
  inTime?: boolean
}

export function isFlameMode(text: unknown): text is FlameMode {
  return typeof text === 'string' && (FLAME_MODES as readonly string[]).includes(text)
}

export function orderOf(text: unknown): FlameOrder {
  return text === 'time' || text === 'name' ? text : 'heavy'
}

export function byOf(text: unknown): FlameBy {
  return FLAME_BYS.find((by) => by === text) ?? 'none'
}

/** The query of a choice; a file to download leaves nothing out. */
export function flameQuery({ mode, by, onCpu, inTime }: FlameChoice, whole = false): FlameQuery {
  const where: FlameWhere = mode === 'difference' ? 'gaps' : mode
  return {
    where,
    ...(mode === 'difference' ? { against: 'outside' } : {}),
    // Threads run beside each other: mixed into one row they would tell no order.
    ...(by === 'none' && !inTime ? {} : { by: by === 'none' ? 'thread' : by }),
    ...(onCpu ? { on_cpu: 'true' } : {}),
    ...(inTime ? { order: 'time' } : {}),
    ...(whole ? {} : { min_share: inTime ? MIN_TIME_SHARE : MIN_SHARE }),
  }
}
