/** Keys of the timeline: what the help says of them, and the listener. */

import { useEventListener } from '@vueuse/core'
import type { Words } from '@/language/en'
import type { Viewport } from '@/timeline/viewport'

export interface KeyHelp {
  keys: string[]
  text: string
}

export function keyHelp(help: Words['help']): KeyHelp[] {
  return [
    { keys: ['w', 's'], text: help.zoom },
    { keys: ['a', 'd'], text: help.pan },
    { keys: ['.', ','], text: help.gaps },
    { keys: ['z'], text: help.out },
    { keys: ['f'], text: help.fit },
    { keys: ['l'], text: help.live },
    { keys: ['m'], text: help.mark },
    { keys: ['e'], text: help.enlarge },
    { keys: ['p'], text: help.pin },
    { keys: ['1', '2', '3'], text: help.flame },
    { keys: ['n'], text: help.note },
    { keys: ['ctrl c', 'ctrl v'], text: help.copy },
    { keys: ['ctrl z'], text: help.undo },
    { keys: ['esc'], text: help.closeSelection },
  ]
}

export function pointerHelp(help: Words['help']): KeyHelp[] {
  return [
    { keys: [help.drag], text: help.select },
    { keys: [help.altDrag], text: help.zoomTo },
    { keys: [help.shiftDrag], text: help.move },
    { keys: [help.ctrlWheel], text: help.wheel },
    { keys: [help.shiftWheel], text: help.swipe },
  ]
}

const ZOOM = 0.7
const PAN = 0.2

function typing(event: KeyboardEvent): boolean {
  const target = event.target
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
}

/** What the keys do besides moving the view. */
export interface KeyActions {
  toGap(direction: 1 | -1): unknown
  mark(): void
  enlarge(): void
  clear(): void
}

/** The keys that move a view. */
export function moveKeys(viewport: Viewport): Record<string, () => void> {
  return {
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
  }
}

export function useTimelineKeys(viewport: Viewport, { toGap, mark, enlarge, clear }: KeyActions): void {
  const actions: Record<string, () => void> = {
    ...moveKeys(viewport),
    l: () => (viewport.live.value ? viewport.pause() : viewport.goLive()),
    '.': () => toGap(1),
    ',': () => toGap(-1),
    m: mark,
    e: enlarge,
    Escape: clear,
  }
  useKeys(actions)
}

/** Calls what belongs to a key, unless somebody writes, a dialog is open or the key is held with another. */
export function useKeys(actions: Readonly<Record<string, () => void>>): void {
  useEventListener(window, 'keydown', (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event) || document.querySelector('dialog[open]')) return
    const action = actions[event.key]
    if (!action) return
    event.preventDefault()
    action()
  })
}
