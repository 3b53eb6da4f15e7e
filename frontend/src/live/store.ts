/** State of the live feed for the header, and whether the view follows it. */

import { defineStore } from 'pinia'
import { computed, ref } from 'vue'
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

  return { feed, following, state, report }
})
