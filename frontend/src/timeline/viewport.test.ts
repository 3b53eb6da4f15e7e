import { beforeEach, describe, expect, it, vi } from 'vitest'
import { widthOf } from '@/time/span'
import { Viewport } from '@/timeline/viewport'

const BOUNDS = { from: 1_000_000, to: 1_120_000 }

beforeEach(() => {
  vi.useFakeTimers()
})

describe('live', () => {
  it('shows the newest seconds and moves with new data', () => {
    const viewport = new Viewport(BOUNDS)
    viewport.goLive(60)
    expect(viewport.span.value).toEqual({ from: 1_060_000, to: 1_120_000 })
    viewport.follow(1_120_100)
    expect(viewport.span.value).toEqual({ from: 1_060_100, to: 1_120_100 })
  })

  it('asks the server again every five seconds, not at every frame', () => {
    const viewport = new Viewport(BOUNDS)
    viewport.goLive(60)
    const first = viewport.settled.value
    viewport.follow(1_124_900)
    expect(viewport.settled.value).toBe(first)
    viewport.follow(1_125_000)
    expect(viewport.settled.value.to).toBe(1_125_000)
  })

  it('stands still when paused while data goes on, and catches up', () => {
    const viewport = new Viewport(BOUNDS)
    viewport.goLive(30)
    viewport.pause()
    viewport.follow(1_130_000)
    expect(viewport.span.value.to).toBe(1_120_000)
    viewport.goLive()
    expect(viewport.span.value).toEqual({ from: 1_100_000, to: 1_130_000 })
  })

  it('does not reach before the first data', () => {
    const viewport = new Viewport({ from: 1_100_000, to: 1_120_000 })
    viewport.goLive(60)
    expect(viewport.span.value).toEqual({ from: 1_100_000, to: 1_120_000 })
  })
})

describe('standing', () => {
  it('goes back a jump at a time, then widens', () => {
    const viewport = new Viewport(BOUNDS)
    viewport.jump({ from: 1_010_000, to: 1_020_000 })
    viewport.jump({ from: 1_012_000, to: 1_013_000 })
    viewport.zoomOut()
    expect(viewport.span.value).toEqual({ from: 1_010_000, to: 1_020_000 })
    viewport.zoomOut()
    expect(viewport.span.value).toEqual(BOUNDS)
    viewport.zoomOut()
    expect(widthOf(viewport.span.value)).toBe(2 * widthOf(BOUNDS))
  })

  it('takes a view from the address at once, so that nothing else is asked for first', () => {
    const viewport = new Viewport(BOUNDS)
    viewport.apply({ live: false, span: { from: 1_050_000, to: 1_060_000 } })
    expect(viewport.settled.value).toEqual({ from: 1_050_000, to: 1_060_000 })
  })

  it('settles once a movement has ended', () => {
    const viewport = new Viewport(BOUNDS)
    viewport.pan(0.1)
    viewport.pan(0.1)
    expect(viewport.settled.value).toEqual(BOUNDS)
    vi.runAllTimers()
    expect(viewport.settled.value).toEqual(viewport.span.value)
  })
})
