import { expect, it } from 'vitest'
import type { LiveFrame } from '@/api/schema'
import { LiveKeeper } from '@/live/keeper'

const frame = (time: number, values: LiveFrame['values']): LiveFrame => ({ type: 'frame', host: 'h', time_ms: time, values })

it('makes columns of the wanted metrics, without a value NaN', () => {
  const keeper = new LiveKeeper(new Set(['power', 'active']))
  const columns = keeper.take(frame(5, { 'gpu:a': { power: 300, other: 1, active: null }, 'gpu:b': { power: 0 } }))
  expect(columns?.keys).toEqual(['gpu:a|power', 'gpu:a|active', 'gpu:b|power'])
  expect([...(columns?.values ?? [])]).toEqual([300, Number.NaN, 0])
  expect(keeper.take(frame(6, { 'gpu:a': { other: 1 } }))).toBeNull()
})

it('keeps nothing twice, as after a reconnect', () => {
  const keeper = new LiveKeeper(new Set(['power']))
  keeper.take(frame(5, { 'gpu:a': { power: 1 } }))
  expect(keeper.take(frame(5, { 'gpu:a': { power: 2 } }))).toBeNull()
  expect(keeper.take(frame(6, { 'gpu:a': { power: 3 } }))?.time).toBe(6)
  const [a, b] = keeper.since(['gpu:a|power', 'gpu:b|power'], Float64Array.of(5, 0))
  expect([[...(a?.samples.times ?? [])], a?.samples.oldest, b?.samples.times.length]).toEqual([[6], 5, 0])
})
