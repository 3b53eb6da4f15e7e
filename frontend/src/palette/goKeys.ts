/** Keys that lead anywhere: `g` and then a letter. The letter is kept from everybody else, who may know it too. */

import { useEventListener } from '@vueuse/core'
import { isTyping } from '@/palette/typing'

export const GO_KEYS = { f: 'fleet', h: 'host', i: 'incidents', a: 'alerts', c: 'compare', s: 'settings' } as const
export type GoTarget = (typeof GO_KEYS)[keyof typeof GO_KEYS]

/** How long `g` waits for its letter. */
const WAIT_MS = 1500

/** Takes keys with their times (ms); says where one leads: null while it waits for the second, undefined where it does not care. */
export function goKeys(): (key: string, time: number) => GoTarget | null | undefined {
  let since: number | null = null
  return (key, time) => {
    const waits = since !== null && time - since <= WAIT_MS
    since = null
    if (waits && Object.hasOwn(GO_KEYS, key)) return GO_KEYS[key as keyof typeof GO_KEYS]
    if (key !== 'g') return undefined
    since = time
    return null
  }
}

export function useGoKeys(go: (target: GoTarget) => void): void {
  const feed = goKeys()
  useEventListener(window, 'keydown', (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event) || document.querySelector('dialog[open]')) return
    const target = feed(event.key, event.timeStamp)
    if (target === undefined) return
    event.stopImmediatePropagation()
    event.preventDefault()
    if (target !== null) go(target)
  }, { capture: true })
}
