import { describe, expect, it } from 'vitest'
import { bareGpuSeconds, bytes, bytesPerSecond, duration, gpuSeconds, MISSING, percent, quantity } from '@/format/quantity'

describe('missing values', () => {
  it('are never written as zero', () => {
    for (const text of [percent(null), bytes(null), bytesPerSecond(undefined), duration(null), quantity(null, 'watts')]) {
      expect(text).toBe(MISSING)
    }
  })
})

describe('percent', () => {
  it.each([[0, '0 %'], [0.0004, '< 0.1 %'], [0.034, '3.4 %'], [0.0996, '10 %'], [0.994, '99 %'], [1, '100 %']])('%d is %s', (ratio, text) => {
    expect(percent(ratio)).toBe(text)
  })
})

describe('bytes', () => {
  it('counts memory in binary and rates in decimal steps', () => {
    expect(bytes(0)).toBe('0 B')
    expect(bytes(1536)).toBe('1.50 KiB')
    expect(bytes(150_754_820_096)).toBe('140 GiB')
    expect(bytesPerSecond(55_300_000_000)).toBe('55.3 GB/s')
    expect(bytesPerSecond(999)).toBe('999 B/s')
  })
})

describe('duration', () => {
  it.each([[0.1, '100 ms'], [0.9999, '1.0 s'], [19.84, '19.8 s'], [59.99, '1 min'], [200, '3 min 20 s'], [7500, '2 h 5 min'], [3 * 86_400, '3 days']])(
    '%d s is %s',
    (seconds, text) => {
      expect(duration(seconds)).toBe(text)
    },
  )
})

it('writes GPU-seconds, and hours when there are many', () => {
  expect(gpuSeconds(0.01)).toBe('< 0.1 GPU-s')
  expect(gpuSeconds(12.34)).toBe('12.3 GPU-s')
  expect(gpuSeconds(36_000)).toBe('10.0 GPU-h')
  expect([0.01, 12.34, 36_000].map(bareGpuSeconds)).toEqual(['< 0.1', '12.3', '10.0 h'])
})

it('writes units without a rule after the figure', () => {
  expect(quantity(1234, 'switches/s')).toBe('1234 switches/s')
  expect(quantity(0.5, 'cores')).toBe('0.50 cores')
  expect(quantity(15, 'cores')).toBe('15 cores')
})
