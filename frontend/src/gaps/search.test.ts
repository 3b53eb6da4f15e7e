import { expect, it } from 'vitest'
import type { GapInfo } from '@/api/schema'
import { gapWindow, MAX_GAP_SPAN_MS, onGrid, searchGap, windowsFrom } from '@/gaps/search'
import type { Span } from '@/time/span'

const DAY = MAX_GAP_SPAN_MS
const gap = (from: number): GapInfo => ({ entity: 'gpu:a', from_ms: from, to_ms: from + 100, idle_seconds: 0.1 })

it('asks about a day around the view where there is more, within what is there', () => {
  expect(gapWindow({ from: 0, to: DAY }, { from: 5, to: 10 })).toEqual({ from: 0, to: DAY })
  expect(gapWindow({ from: 0, to: 4 * DAY }, { from: DAY, to: 3 * DAY })).toEqual({ from: 1.5 * DAY, to: 2.5 * DAY })
  expect(gapWindow({ from: 0, to: 4 * DAY }, { from: 0, to: 1000 })).toEqual({ from: 0, to: DAY })
  expect(gapWindow({ from: 0, to: 4 * DAY }, { from: 4 * DAY - 1000, to: 4 * DAY })).toEqual({ from: 3 * DAY, to: 4 * DAY })
})

it('goes through the rest of the data in days, nearest first', () => {
  expect([...windowsFrom(DAY, { from: 0, to: 2.5 * DAY }, 1)]).toEqual([{ from: DAY, to: 2 * DAY }, { from: 2 * DAY, to: 2.5 * DAY }])
  expect([...windowsFrom(DAY, { from: 0.5 * DAY, to: 2 * DAY }, -1)]).toEqual([{ from: 0.5 * DAY, to: DAY }])
  expect([...windowsFrom(DAY, { from: 0, to: DAY }, 1)]).toEqual([])
})

it('stops at the first window that has a gap, and takes the nearest of it', async () => {
  const asked: Span[] = []
  const all = [gap(2.2 * DAY), gap(2.9 * DAY), gap(3.5 * DAY)]
  async function read(span: Span): Promise<GapInfo[]> {
    asked.push(span)
    return all.filter((one) => one.from_ms >= span.from && one.from_ms < span.to)
  }
  const where = { view: { from: 0, to: 1000 }, data: { from: 0, to: 9 * DAY }, direction: 1 as const }
  expect(await searchGap(read, { from: 0, to: DAY }, where)).toBe(all[0])
  expect(asked).toHaveLength(2)
  expect(await searchGap(read, { from: 0, to: 4 * DAY }, where)).toBeNull()
  expect(await searchGap(read, { from: 3 * DAY, to: 4 * DAY }, { ...where, view: { from: 3.2 * DAY, to: 3.3 * DAY }, direction: -1 })).toBe(all[1])
})

it('asks about at least one cell of the grid', () => {
  expect(onGrid({ from: 1050, to: 2000 })).toEqual({ from: 1100, to: 2000 })
  expect(onGrid({ from: 1650, to: 1700 })).toEqual({ from: 1600, to: 1700 })
  expect(onGrid({ from: 1650, to: 1690 })).toEqual({ from: 1600, to: 1690 })
})
