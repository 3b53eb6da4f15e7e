/** State of the live feed for the header, and whether the view follows it. */

import { computed, ref, shallowRef } from 'vue'
import type { AskedAnswer, SocketState } from '@/live/socket'
import { shared } from '@/preferences/shared'

export type PillState = SocketState | 'paused'

/** Why an agent is not asked for stacks. */
export const REFUSALS = ['no_agent', 'not_logged_in', 'recorded', 'unreachable', 'other'] as const
export type Refusal = (typeof REFUSALS)[number]

export type StackWish = { state: 'none' | 'taking' } | { state: 'asking'; seconds: number } | { state: 'refused'; reason: Refusal }

/** A refusal stays to be read for so long. */
const REFUSED_SECONDS = 12

function isRefusal(text: string): text is Refusal {
  return (REFUSALS as readonly string[]).includes(text)
}

export const useLiveStore = shared(() => {
  const feed = ref<SocketState>('connecting')
  /** False while the view stands still although frames may arrive. */
  const following = ref(true)
  const state = computed<PillState>(() => (feed.value === 'live' && !following.value ? 'paused' : feed.value))

  /** Asks the host's agent for stacks; null where no feed is open. */
  const asker = shallowRef<((seconds: number) => void) | null>(null)
  const wish = shallowRef<StackWish>({ state: 'none' })
  let timer: ReturnType<typeof setTimeout> | null = null

  function become(next: StackWish, seconds: number | null = null): void {
    if (timer !== null) clearTimeout(timer)
    wish.value = next
    timer = seconds === null ? null : setTimeout(() => become({ state: 'none' }), seconds * 1000)
  }

  /** `ask` is null where nobody can be asked: the page is left, or a recording is played. */
  function hear(ask: ((seconds: number) => void) | null): void {
    asker.value = ask
    become({ state: 'none' })
  }

  function askStacks(seconds: number): void {
    if (!asker.value) become({ state: 'refused', reason: 'recorded' }, REFUSED_SECONDS)
    else if (feed.value === 'unreachable' || feed.value === 'connecting') become({ state: 'refused', reason: 'unreachable' }, REFUSED_SECONDS)
    else {
      become({ state: 'asking', seconds })
      asker.value(seconds)
    }
  }

  /** What the server said to the wish. */
  function answered({ accepted, reason }: AskedAnswer): void {
    if (wish.value.state !== 'asking') return
    if (accepted) become({ state: 'taking' }, wish.value.seconds)
    else become({ state: 'refused', reason: isRefusal(reason) ? reason : 'other' }, REFUSED_SECONDS)
  }

  function report(state: SocketState): void {
    feed.value = state
    if (state === 'unreachable' && wish.value.state === 'asking') become({ state: 'refused', reason: 'unreachable' }, REFUSED_SECONDS)
  }

  return { feed, following, state, report, hear, wish, askStacks, answered }
})
