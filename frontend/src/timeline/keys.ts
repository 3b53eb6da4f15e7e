/** Keys of the timeline. One table serves the listener and the help. */

import { useEventListener } from '@vueuse/core'
import type { Viewport } from '@/timeline/viewport'

export interface KeyHelp {
  keys: string[]
  text: string
}

export const KEY_HELP: readonly KeyHelp[] = [
  { keys: ['w', 's'], text: 'Zoom in and out (also + and -)' },
  { keys: ['a', 'd'], text: 'Move to the past and back (also the arrow keys)' },
  { keys: ['.', ','], text: 'Next and previous gap' },
  { keys: ['z'], text: 'One step out (also t z, or a double click)' },
  { keys: ['f'], text: 'Everything that is stored' },
  { keys: ['l'], text: 'Live, or pause' },
  { keys: ['g'], text: 'All hosts' },
  { keys: ['/'], text: 'Filter, on the page of all hosts' },
  { keys: ['?'], text: 'This help' },
]

export const POINTER_HELP: readonly KeyHelp[] = [
  { keys: ['drag'], text: 'Select a span and zoom to it; the verdict is about what you see' },
  { keys: ['shift drag'], text: 'Move' },
  { keys: ['ctrl wheel'], text: 'Zoom at the cursor; over the time axis the wheel alone does' },
  { keys: ['shift wheel'], text: 'Move (also a sideways swipe)' },
]

const ZOOM = 0.7
const PAN = 0.2

function typing(event: KeyboardEvent): boolean {
  const target = event.target
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
}

export function useTimelineKeys(viewport: Viewport, toGap: (direction: 1 | -1) => void): void {
  const actions: Record<string, () => void> = {
    w: () => viewport.zoom(ZOOM),
    '+': () => viewport.zoom(ZOOM),
    s: () => viewport.zoom(1 / ZOOM),
    '-': () => viewport.zoom(1 / ZOOM),
    a: () => viewport.pan(-PAN),
    ArrowLeft: () => viewport.pan(-PAN),
    d: () => viewport.pan(PAN),
    ArrowRight: () => viewport.pan(PAN),
    f: () => viewport.fit(),
    z: () => viewport.zoomOut(),
    l: () => (viewport.live.value ? viewport.pause() : viewport.goLive()),
    '.': () => toGap(1),
    ',': () => toGap(-1),
  }
  useEventListener(window, 'keydown', (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event) || document.querySelector('dialog[open]')) return
    const action = actions[event.key]
    if (!action) return
    event.preventDefault()
    action()
  })
}
