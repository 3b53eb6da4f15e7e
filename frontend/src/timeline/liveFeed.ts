/** The live socket of a host page: frames go to the book, the view follows, a reconnect fills the hole. */

import { onBeforeUnmount, onMounted } from 'vue'
import type { LiveFrame } from '@/api/schema'
import { useLiveStore } from '@/live/store'
import { LiveFeed } from '@/live/socket'
import type { TimelineContext } from '@/timeline/context'
import { liveMetrics } from '@/timeline/lanes'

export function useLiveFeed(context: TimelineContext, host: string, refetch: () => void): void {
  const live = useLiveStore()
  const wanted = liveMetrics()

  function take(frame: LiveFrame): void {
    context.book.append(frame, wanted)
    context.viewport.follow(frame.time_ms)
  }

  const feed = new LiveFeed(host, { frame: take, state: live.report, reconnected: refetch })
  onMounted(() => feed.open())
  onBeforeUnmount(() => feed.close())
}
