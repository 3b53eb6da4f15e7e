import { expect, it } from 'vitest'
import { limitBytes, outlook } from '@/settings/outlook'
import type { Capacity } from '@/settings/queries'

const measured: Capacity = {
  database: 'sqlite', state: 'measured', measured_seconds: 86_400, used_bytes: 1e9, free_bytes: 1e10, read_only: false,
  growth_bytes_per_day: 2 ** 30, steady_bytes: 2 ** 35, fills: false, days_until_full: null, kinds: [], hosts: [], settings: [],
}

it('tells when it is full, and that soon is urgent', () => {
  expect(outlook({ ...measured, fills: true, days_until_full: 3.2 })).toMatchObject({ headline: 'Full in 3 days', urgent: true, asksLimit: false })
  expect(outlook({ ...measured, fills: true, days_until_full: 200 }).urgent).toBe(false)
  expect(outlook(measured)).toMatchObject({ headline: 'It does not fill up', urgent: false })
  expect(outlook(measured).detail).toBe('Grows by 1.00 GiB a day, measured over 24 h; it would reach 32.0 GiB')
})

it('promises nothing where little is known', () => {
  const young: Capacity = { ...measured, state: 'not_enough_history', growth_bytes_per_day: null, steady_bytes: null, fills: null }
  expect(outlook(young).headline).toBe('Not enough history yet')
  const postgres: Capacity = { ...measured, free_bytes: null, fills: null }
  expect(outlook(postgres)).toMatchObject({ headline: 'How much room there is cannot be seen from here', asksLimit: true })
})

it('is urgent while batches are refused', () => {
  expect(outlook({ ...measured, read_only: true }).urgent).toBe(true)
})

it.each([['500', 500 * 2 ** 30], ['0.5', 2 ** 29], ['0', null], ['-3', null], ['x', null], [undefined, null]])('a limit of %j GiB', (text, bytes) => {
  expect(limitBytes(text)).toBe(bytes)
})
