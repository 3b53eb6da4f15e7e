/** What a reader chose of a flame graph, and the query that it makes. */

import type { FlameBy, FlameWhere } from '@/api/analysisSchema'
import type { FlameQuery } from '@/api/queries'
import type { FlameMode } from '@/language/enAnalysis'

export const FLAME_MODES: readonly FlameMode[] = ['all', 'idle', 'gaps', 'outside', 'difference']
export const FLAME_BYS: readonly FlameBy[] = ['none', 'process', 'thread']

/** Boxes below this share are left out by the server; on a screen of 2000 pixels they are no pixel wide. */
const MIN_SHARE = 0.0004

export interface FlameChoice {
  mode: FlameMode
  by: FlameBy
  onCpu: boolean
}

export function isFlameMode(text: unknown): text is FlameMode {
  return typeof text === 'string' && (FLAME_MODES as readonly string[]).includes(text)
}

/** The query of a choice; a file to download leaves nothing out. */
export function flameQuery({ mode, by, onCpu }: FlameChoice, whole = false): FlameQuery {
  const where: FlameWhere = mode === 'difference' ? 'gaps' : mode
  return {
    where,
    ...(mode === 'difference' ? { against: 'outside' } : {}),
    ...(by === 'none' ? {} : { by }),
    ...(onCpu ? { on_cpu: 'true' } : {}),
    ...(whole ? {} : { min_share: MIN_SHARE }),
  }
}
