/** Draws once in the next animation frame after any of the sources changed. */

import type { WatchSource } from 'vue'
import { onBeforeUnmount, onMounted, watch } from 'vue'

export function useFrame(sources: WatchSource<unknown>[], draw: () => void): () => void {
  let handle = 0

  function request(): void {
    if (handle) return
    handle = requestAnimationFrame(() => {
      handle = 0
      draw()
    })
  }

  watch(sources, request, { flush: 'post' })
  onMounted(request)
  onBeforeUnmount(() => cancelAnimationFrame(handle))
  return request
}
