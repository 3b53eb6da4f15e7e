/** Hotspots as one reads them: a line of code once, however many threads and processes stood in it. */

import type { Hotspot } from '@/api/schema'
import { words } from '@/language/words'

export interface HotLine {
  function: string
  file: string
  line: number
  source: string | null
  share: number
  samples: number
  /** The thread where there is one, else how many processes or threads there are. */
  where: string
}

function whereOf(spots: readonly Hotspot[]): string {
  const processes = new Set(spots.map((spot) => spot.pid)).size
  if (processes > 1) return words.value.verdict.processes(processes)
  return spots.length > 1 ? words.value.verdict.threads(spots.length) : (spots[0]?.thread ?? '')
}

/** The line with the largest share first. */
export function byLine(hotspots: readonly Hotspot[]): HotLine[] {
  const groups = new Map<string, Hotspot[]>()
  for (const spot of hotspots) {
    const key = `${spot.file}:${spot.line}:${spot.function}`
    groups.set(key, [...(groups.get(key) ?? []), spot])
  }
  return [...groups.values()]
    .map((spots) => {
      const { function: name, file, line } = spots[0] as Hotspot
      const share = spots.reduce((sum, spot) => sum + spot.share, 0)
      const samples = spots.reduce((sum, spot) => sum + spot.samples, 0)
      return { function: name, file, line, share, samples, source: spots.find((spot) => spot.source)?.source ?? null, where: whereOf(spots) }
    })
    .sort((a, b) => b.share - a.share)
}
