/** State of the live feed for the header, and whether the view follows it. */

import { defineStore } from 'pinia'
import { computed, ref, shallowRef } from 'vue'
import type { SocketState } from '@/live/socket'

export type PillState = SocketState | 'paused'

export const useLiveStore = defineStore('live', () => {
  const feed = ref<SocketState>('connecting')
  /** False while the view stands still although frames may arrive. */
  const following = ref(true)
  const state = computed<PillState>(() => (feed.value === 'live' && !following.value ? 'paused' : feed.value))

  function report(state: SocketState): void {
    feed.value = state
  }

  /** Asks the host's agent for stacks; null where no feed is open. */
  const asker = shallowRef<((seconds: number) => void) | null>(null)
  const askedStacks = ref(false)
  /** Only a connected agent hears it. */
  const canAskStacks = computed(() => asker.value !== null && (feed.value === 'live' || feed.value === 'waiting'))

  function hear(ask: ((seconds: number) => void) | null): void {
    asker.value = ask
    askedStacks.value = false
  }

  function askStacks(seconds: number): void {
    asker.value?.(seconds)
    askedStacks.value = true
    setTimeout(() => {
      askedStacks.value = false
    }, seconds * 1000)
  }

  return { feed, following, state, report, hear, canAskStacks, askedStacks, askStacks }
})
