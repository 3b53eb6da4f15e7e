/** How many entries of a long list there is room for: it grows as one scrolls to its end. */

import { useIntersectionObserver } from '@vueuse/core'
import type { Ref, WatchSource } from 'vue'
import { ref, watch } from 'vue'

/** Entries made at first and each time that the end of the list comes near. */
const STEP = 20
const END_MARGIN = '600px'

/** `end` is an element after the list; it starts over when `anew` changes. */
export function useRoom(end: Readonly<Ref<HTMLElement | null>>, length: () => number, anew: WatchSource<unknown>): Ref<number> {
  const room = ref(STEP)
  useIntersectionObserver(end, (entries) => {
    if (entries.at(-1)?.isIntersecting && room.value < length()) room.value += STEP
  }, { rootMargin: END_MARGIN })
  watch(anew, () => {
    room.value = STEP
  })
  return room
}
