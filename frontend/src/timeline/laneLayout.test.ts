import { expect, it } from 'vitest'
import type { LaneItem, LaneLayout } from '@/timeline/laneLayout'
import { folded, layoutOf, layoutQuery, moved, pinned, siblings, stepped } from '@/timeline/laneLayout'

const item = (key: string, group: string | null = null, isFolded = false): LaneItem => ({ key, group, folded: isFolded })
const ITEMS = [item('notes'), item('gpu0'), item('ribbon'), item('cores'), item('gpu0-more', null, true), item('gpu0-pcie', 'gpu0-more'), item('gpu0-power', 'gpu0-more')]
const usual = layoutOf(ITEMS, {})

/** The layout after a way through the address. */
function kept(layout: LaneLayout): LaneLayout {
  return layoutOf(ITEMS, layoutQuery(ITEMS, layout))
}

it('says nothing in the address about the usual layout', () => {
  expect(layoutQuery(ITEMS, usual)).toEqual({ lanes: undefined, pin: undefined })
  expect([...usual.folded]).toEqual(['gpu0-more'])
})

it('names only what was moved', () => {
  const first = moved(ITEMS, usual, 'cores', 'notes', false)
  expect(layoutQuery(ITEMS, first).lanes).toBe('cores')
  expect(kept(first)).toEqual(first)
  const second = stepped(ITEMS, first, 'cores', 1)
  expect(second.order.slice(0, 3)).toEqual(['notes', 'cores', 'gpu0'])
  expect(kept(second)).toEqual(second)
})

it('moves a lane back to where it was', () => {
  const there = stepped(ITEMS, usual, 'ribbon', -1)
  expect(there).not.toEqual(usual)
  expect(layoutQuery(ITEMS, stepped(ITEMS, there, 'ribbon', 1)).lanes).toBeUndefined()
})

it('keeps lanes within their group', () => {
  expect(siblings(ITEMS, usual, 'gpu0-power')).toEqual(['gpu0-pcie', 'gpu0-power'])
  expect(moved(ITEMS, usual, 'gpu0-power', 'notes', false)).toBe(usual)
  expect(stepped(ITEMS, usual, 'notes', -1)).toBe(usual)
  const swapped = stepped(ITEMS, usual, 'gpu0-power', -1)
  expect(siblings(ITEMS, kept(swapped), 'gpu0-power')).toEqual(['gpu0-power', 'gpu0-pcie'])
})

it('tells folded lanes and opened ones apart', () => {
  const changed = folded(folded(usual, 'ribbon'), 'gpu0-more')
  expect(layoutQuery(ITEMS, changed).lanes).toBe('-ribbon,*gpu0-more')
  expect([...kept(changed).folded]).toEqual(['ribbon'])
})

it('opens what is pinned, orders it by itself, and lets it go', () => {
  const both = pinned(pinned(folded(usual, 'ribbon'), 'ribbon'), 'gpu0-pcie')
  expect(both.folded.has('ribbon')).toBe(false)
  expect(layoutQuery(ITEMS, both).pin).toBe('ribbon,gpu0-pcie')
  expect(stepped(ITEMS, kept(both), 'gpu0-pcie', -1).pinned).toEqual(['gpu0-pcie', 'ribbon'])
  expect(siblings(ITEMS, both, 'cores')).not.toContain('ribbon')
  expect(pinned(both, 'ribbon').pinned).toEqual(['gpu0-pcie'])
})

it.each(['nothing', '-', '*x', 'cores,cores', '__proto__', ',,', undefined, ['cores']])('reads %j without harm', (text) => {
  const read = layoutOf(ITEMS, { lanes: text, pin: text })
  expect([...read.order].sort()).toEqual(ITEMS.map((one) => one.key).sort())
})
