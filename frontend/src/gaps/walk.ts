/** From gap to gap on a timeline: at once among those that are known, else the server is asked for more. */

import type { Ref } from 'vue'
import { computed, shallowRef } from 'vue'
import { readGaps, useGaps } from '@/api/queries'
import type { SpanWish } from '@/api/queries'
import type { GapInfo } from '@/api/schema'
import { gapView, neighbourGap, settledGaps } from '@/gaps/navigation'
import { onGrid, searchGap } from '@/gaps/search'
import { words } from '@/language/words'
import type { Viewport } from '@/timeline/viewport'

/** Gaps asked for at once: more than the list shows, so that the short ones are not skipped. */
const LIMIT = 2000

export interface GapWalk {
  /** Gaps around the view that can be gone to. */
  known: Ref<readonly GapInfo[]>
  /** Why there is nowhere to go, or that it is being looked for; empty else. */
  told: Ref<string>
  go(direction: 1 | -1): Promise<void>
}

/** `wide` is the span around the view whose gaps are known; a live host's newest gaps have no end yet. */
export function useGapWalk(viewport: Viewport, wide: Ref<SpanWish>, isLive: () => boolean): GapWalk {
  const around = useGaps(wide, LIMIT)
  const told = shallowRef('')
  let walk = 0

  function settled(gaps: readonly GapInfo[]): readonly GapInfo[] {
    return isLive() ? settledGaps(gaps, viewport.known.to) : gaps
  }
  const known = computed(() => settled(around.data.value?.gaps ?? []))

  async function further(direction: 1 | -1): Promise<GapInfo | null> {
    const { host, span } = wide.value
    if (!span) return null
    const asked = around.data.value && !around.isPlaceholderData.value ? span : { from: viewport.span.value.from, to: viewport.span.value.from }
    const read = async (window: { from: number; to: number }) => settled((await readGaps(host, onGrid(window), LIMIT)).gaps)
    return searchGap(read, asked, { view: viewport.span.value, data: viewport.known, direction })
  }

  async function go(direction: 1 | -1): Promise<void> {
    const view = viewport.span.value
    const back = direction === 1 ? -1 : 1
    walk += 1
    const own = walk
    told.value = ''
    // Who follows the newest data is at its end; where nothing lies that way, the nearest gap the other way is meant.
    let gap = neighbourGap(known.value, view, direction) ?? (viewport.live.value ? neighbourGap(known.value, view, back) : null)
    if (!gap) {
      told.value = words.value.gaps.looking
      try {
        gap = await further(direction)
      } catch (failure) {
        told.value = failure instanceof Error ? failure.message : String(failure)
        return
      }
      // Somebody went elsewhere meanwhile.
      if (own !== walk || viewport.span.value !== view) {
        if (own === walk) told.value = ''
        return
      }
      told.value = gap ? '' : words.value.gaps.noFurther
    }
    if (gap) viewport.jump(gapView(gap))
  }

  return { known, told, go }
}
