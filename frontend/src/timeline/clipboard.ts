/** Copy and paste of spans, and undo of what moved the view: ctrl c, ctrl v, ctrl z. */

import { useEventListener } from '@vueuse/core'
import type { Ref } from 'vue'
import { ref } from 'vue'
import { useRouter } from 'vue-router'
import { words } from '@/language/words'
import type { Span } from '@/time/span'
import { copiedText, pastedSpan } from '@/view/clipboard'

const TOLD_MS = 2000

export interface SpanClipboard {
  /** What just happened, for a moment. */
  told: Ref<string>
  copy(): Promise<void>
}

function writing(event: Event): boolean {
  return event.target instanceof HTMLElement && event.target.matches('input, textarea, select')
}

/** Whether a neighbour of the history is this very page in another view. */
function samePage(address: unknown): boolean {
  return typeof address === 'string' && address.split('?')[0] === window.location.pathname
}

export function useSpanClipboard(shown: () => Span, jump: (span: Span) => void): SpanClipboard {
  const router = useRouter()
  const told = ref('')

  function tell(text: string): void {
    told.value = text
    setTimeout(() => {
      if (told.value === text) told.value = ''
    }, TOLD_MS)
  }

  useEventListener(document, 'copy', (event: ClipboardEvent) => {
    if (writing(event) || window.getSelection()?.toString()) return
    event.clipboardData?.setData('text/plain', copiedText(shown()))
    event.preventDefault()
    tell(words.value.tools.copied)
  })
  useEventListener(document, 'paste', (event: ClipboardEvent) => {
    const span = writing(event) ? null : pastedSpan(event.clipboardData?.getData('text/plain') ?? '')
    if (!span) return
    event.preventDefault()
    jump(span)
    tell(words.value.tools.pasted)
  })
  useEventListener(window, 'keydown', (event: KeyboardEvent) => {
    if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== 'z' || writing(event)) return
    const state = window.history.state as { back?: unknown; forward?: unknown } | null
    if (!samePage(event.shiftKey ? state?.forward : state?.back)) return
    event.preventDefault()
    router.go(event.shiftKey ? 1 : -1)
  })

  async function copy(): Promise<void> {
    await navigator.clipboard.writeText(copiedText(shown()))
    tell(words.value.tools.copied)
  }

  return { told, copy }
}
