/** The layout of the lanes in the address, and what moves, folds and pins them. */

import type { InjectionKey, Ref, ShallowRef } from 'vue'
import { inject, ref, shallowRef, watch } from 'vue'
import { useRoute, useRouter } from 'vue-router'
import type { LaneItem, LaneLayout } from '@/timeline/laneLayout'
import { folded, layoutOf, layoutQuery, moved, pinned, siblings, stepped } from '@/timeline/laneLayout'

/** A lane that hangs on the pointer, and where it would land; null target: nowhere. */
export interface LaneDrag {
  key: string
  target: string | null
  after: boolean
}

export interface Lanes {
  layout: ShallowRef<LaneLayout>
  /** The lane under the pointer or with the focus: what the key `p` is about. */
  pointed: Ref<string | null>
  drag: ShallowRef<LaneDrag | null>
  fold(key: string): void
  pin(key: string): void
  step(key: string, by: 1 | -1): void
  /** Follows a drag over another lane; `after`: over its lower half. */
  hover(target: string | null, after: boolean): void
  drop(): void
}

export function useLanes(items: Ref<readonly LaneItem[]>): Lanes {
  const route = useRoute()
  const router = useRouter()
  const layout = shallowRef(layoutOf(items.value, route.query))
  const pointed = ref<string | null>(null)
  const drag = shallowRef<LaneDrag | null>(null)
  watch([items, () => route.query.lanes, () => route.query.pin], () => {
    layout.value = layoutOf(items.value, route.query)
  })

  /** Shown at once; the address and with it the way back follow. */
  function change(next: LaneLayout): void {
    if (next === layout.value) return
    layout.value = next
    void router.push({ query: { ...route.query, ...layoutQuery(items.value, next) } })
  }

  function hover(target: string | null, after: boolean): void {
    const held = drag.value
    if (!held) return
    const fits = target !== null && target !== held.key && siblings(items.value, layout.value, held.key).includes(target)
    drag.value = { ...held, target: fits ? target : null, after }
  }

  function drop(): void {
    const held = drag.value
    drag.value = null
    if (held?.target) change(moved(items.value, layout.value, held.key, held.target, held.after))
  }

  return {
    layout,
    pointed,
    drag,
    fold: (key) => change(folded(layout.value, key)),
    pin: (key) => {
      if (items.value.some((item) => item.key === key)) change(pinned(layout.value, key))
    },
    step: (key, by) => change(stepped(items.value, layout.value, key, by)),
    hover,
    drop,
  }
}

export const lanesKey: InjectionKey<Lanes> = Symbol('lanes')
/** Key of the lane that a component stands in. */
export const laneKey: InjectionKey<string> = Symbol('lane')

/** The lane that this component is the frame of. */
export function useLane(): { key: string; lanes: Lanes } {
  const lanes = inject(lanesKey)
  const key = inject(laneKey)
  if (!lanes || key === undefined) throw new Error('This component belongs inside a lane.')
  return { key, lanes }
}
