/** Keeps the view in the address (`?t=`), one history entry a movement, and follows the browser's back and forward. */

import { watchDebounced } from '@vueuse/core'
import { watch } from 'vue'
import { useRoute, useRouter } from 'vue-router'
import type { Viewport } from '@/timeline/viewport'
import { parseView, viewText } from '@/view/url'

const QUIET_MS = 300

export function useViewUrl(viewport: Viewport): void {
  const route = useRoute()
  const router = useRouter()
  let written = typeof route.query.t === 'string' ? route.query.t : ''

  function write(): void {
    const text = viewText(viewport.view)
    if (text === written) return
    const first = written === ''
    written = text
    const target = { query: { ...route.query, t: text } }
    void (first ? router.replace(target) : router.push(target))
  }

  watchDebounced([viewport.settled, viewport.live, viewport.liveSeconds], write, { debounce: QUIET_MS, immediate: true })
  watch(
    () => route.query.t,
    (text) => {
      if (text === written) return
      const view = parseView(text)
      if (!view) return
      written = String(text)
      viewport.apply(view)
    },
  )
}
