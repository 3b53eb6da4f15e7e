/**
 * The live feed of a host page: frames go to the book and the view follows. Agents store in batches of seconds, so the
 * time between what is stored and the first frame is fetched as soon as it is there.
 */

import { useTimeoutFn } from '@vueuse/core'
import { onBeforeUnmount, onMounted } from 'vue'
import { readSeries } from '@/api/queries'
import { LiveChannel } from '@/live/channel'
import type { LiveColumns } from '@/live/keeper'
import { useLiveStore } from '@/live/store'
import type { Span } from '@/time/span'
import type { TimelineContext } from '@/timeline/context'
import { liveMetrics } from '@/timeline/lanes'

const BRIDGE_PERIOD_MS = 1000
/** An agent that stored nothing for so long has other troubles; the ordinary reads fill the hole later. */
const BRIDGE_TRIES = 12
/** What is stored is known a little late: reach back beyond it. */
const BRIDGE_REACH_MS = 10_000
/** Half as many as samples can be there at most, so that they come as they were taken. */
const BRIDGE_BUCKETS = 200
/** Bridged when samples end so near to the first frame. */
const NEAR_MS = 300

/** Fetches stored samples up to `first.to` until they are all there. */
function useBridge({ book, viewport }: TimelineContext, host: string, wanted: ReadonlySet<string>): (firstFrame: number) => void {
  let span: Span | null = null
  let tries = 0

  async function read(): Promise<void> {
    if (!span || tries >= BRIDGE_TRIES) return
    tries += 1
    const answer = await readSeries(host, span, { entity: ['gpu:*', 'core:*', 'process:*'], metric: [...wanted], buckets: BRIDGE_BUCKETS }).catch(() => null)
    if (answer) book.bridge(answer)
    const until = Math.max(...(answer?.series ?? []).map((data) => data.time_ms.at(-1) ?? 0), 0)
    if (span && until < span.to - NEAR_MS) timer.start()
  }

  const timer = useTimeoutFn(() => void read(), BRIDGE_PERIOD_MS, { immediate: false })
  onBeforeUnmount(() => {
    span = null
  })
  return (firstFrame) => {
    span = { from: Math.min(viewport.known.to, firstFrame) - BRIDGE_REACH_MS, to: firstFrame }
    tries = 0
    timer.start()
  }
}

/** `isMeasured`: an agent is there that can take stacks; a recording that is played cannot. */
export function useLiveFeed(context: TimelineContext, host: string, isMeasured: boolean, refetch: () => void): void {
  const live = useLiveStore()
  const { book } = context
  const wanted = liveMetrics()
  const bridge = useBridge(context, host, wanted)
  let connected = false
  let channel: LiveChannel | null = null

  function take(frame: LiveColumns): void {
    if (!connected) bridge(frame.time)
    connected = true
    book.append(frame)
    context.viewport.follow(frame.time)
  }

  function reconnected(): void {
    connected = false
    refetch()
  }

  /** What is stored is shown all the same. */
  function failed(): void {
    book.source = null
    live.report('unreachable')
    refetch()
  }

  onMounted(() => {
    channel = new LiveChannel(host, wanted, {
      frame: take, rings: (series) => book.receive(series), state: live.report, reconnected, asked: live.answered, failed,
    })
    book.source = channel
    const open = channel
    if (isMeasured) live.hear((seconds) => open.send({ type: 'stacks', seconds }))
  })
  onBeforeUnmount(() => {
    live.hear(null)
    book.source = null
    channel?.close()
  })
}
