/** Opening the palette: its code comes when the browser has time or at the first ctrl-k; letters typed meanwhile are kept. */

import { useEventListener } from '@vueuse/core'
import type { Ref } from 'vue'
import { defineAsyncComponent, onMounted, shallowRef } from 'vue'

const load = () => import('@/palette/CommandPalette.vue')
export const CommandPalette = defineAsyncComponent(load)

const PRELOAD_AFTER_MS = 3000

export function usePalette(may: () => boolean): { open: Ref<boolean>; typed: Ref<string>; show: () => void } {
  const open = shallowRef(false)
  const typed = shallowRef('')

  function show(): void {
    if (open.value || !may() || document.querySelector('dialog[open]')) return
    typed.value = ''
    open.value = true
  }

  useEventListener(window, 'keydown', (event: KeyboardEvent) => {
    const control = event.ctrlKey || event.metaKey
    if (control && !event.altKey && event.key.toLowerCase() === 'k') show()
    else if (open.value && !control && event.key.length === 1 && !document.querySelector('dialog[open]')) typed.value += event.key
    else return
    event.preventDefault()
    event.stopImmediatePropagation()
  }, { capture: true })
  onMounted(() => setTimeout(() => void load().catch(() => undefined), PRELOAD_AFTER_MS))
  return { open, typed, show }
}
