import { describe, expect, it } from 'vitest'
import { cividis, heat, heatTable } from '@/colour/cividis'
import type { Rgb } from '@/colour/cividis'

/** Relative luminance, WCAG 2. */
function luminance(colour: Rgb): number {
  const [r, g, b] = colour.map((value) => {
    const part = value / 255
    return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  }) as [number, number, number]
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}

describe('cividis', () => {
  it('has the published ends and grows lighter all the way', () => {
    expect(cividis(0)).toEqual([0, 32, 77])
    expect(cividis(1)).toEqual([255, 234, 70])
    const steps = Array.from({ length: 101 }, (_, i) => luminance(cividis(i / 100)))
    expect(steps.every((value, i) => i === 0 || value >= (steps[i - 1] as number))).toBe(true)
  })
})

describe('heat', () => {
  it('is lighter for more on dark, darker for more on light', () => {
    expect(luminance(heat(1, 'dark'))).toBeGreaterThan(luminance(heat(0, 'dark')))
    expect(luminance(heat(1, 'light'))).toBeLessThan(luminance(heat(0, 'light')))
  })

  it('darkens all the way on light', () => {
    const steps = heatTable('light').map(luminance)
    expect(steps.every((value, i) => i === 0 || value <= (steps[i - 1] as number))).toBe(true)
  })

  it('cuts the low end on dark and clamps values', () => {
    expect(heat(0, 'dark')).not.toEqual(cividis(0))
    expect(heat(7, 'dark')).toEqual(cividis(1))
    expect(heatTable('light')).toHaveLength(256)
  })
})
