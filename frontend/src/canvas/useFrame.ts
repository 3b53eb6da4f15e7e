/** Draws once in the next animation frame after any of the sources changed; while `element` is out of sight not at all. */

import { useIntersectionObserver } from '@vueuse/core'
import type { Ref, WatchSource } from 'vue'
import { onBeforeUnmount, onMounted, watch } from 'vue'

/** Drawn a little before it scrolls into sight. */
const MARGIN = '300px'

export function useFrame(element: Readonly<Ref<HTMLElement | null>>, sources: WatchSource<unknown>[], draw: () => void): () => void {
  let handle = 0
  let seen = true
  let owed = false

  function request(): void {
    owed = true
    if (handle || !seen) return
    handle = requestAnimationFrame(() => {
      handle = 0
      owed = false
      draw()
    })
  }

  useIntersectionObserver(element, (entries) => {
    seen = entries.at(-1)?.isIntersecting ?? true
    if (seen && owed) request()
  }, { rootMargin: MARGIN })
  watch(sources, request, { flush: 'post' })
  onMounted(request)
  onBeforeUnmount(() => cancelAnimationFrame(handle))
  return request
}
