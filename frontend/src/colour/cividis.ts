/**
 * Cividis (Nuñez, Anderton, Renslow 2018): even in lightness and readable with any colour vision.
 * Dark theme: the low end, which would vanish in the background, is cut. Light theme: reversed, so that more is darker, and
 * paled towards white at the low end, so that idle cells stay quiet.
 */

export type Theme = 'light' | 'dark'
export type Rgb = readonly [number, number, number]

/** The published map at ten even steps: #00204D to #FFEA46. */
const ANCHORS: readonly Rgb[] = [
  [0, 32, 77], [0, 51, 111], [57, 72, 107], [87, 92, 109], [112, 113, 115],
  [138, 135, 121], [166, 157, 117], [196, 181, 108], [228, 207, 91], [255, 234, 70],
]
const DARK_FLOOR = 0.12
/** How far the lowest value goes towards white on light. */
const LIGHT_PALING = 0.8

/** The colour of the plain map at `position` 0..1. */
export function cividis(position: number): Rgb {
  const place = Math.min(1, Math.max(0, position)) * (ANCHORS.length - 1)
  const left = Math.min(ANCHORS.length - 2, Math.floor(place))
  const rest = place - left
  const a = ANCHORS[left] as Rgb
  const b = ANCHORS[left + 1] as Rgb
  const mix = (i: 0 | 1 | 2): number => Math.round(a[i] + (b[i] - a[i]) * rest)
  return [mix(0), mix(1), mix(2)]
}

/** The colour of a utilization 0..1 in a theme. */
export function heat(ratio: number, theme: Theme): Rgb {
  const value = Math.min(1, Math.max(0, ratio))
  if (theme === 'dark') return cividis(DARK_FLOOR + value * (1 - DARK_FLOOR))
  const paling = LIGHT_PALING * (1 - value) ** 2
  const [r, g, b] = cividis(1 - value)
  const pale = (part: number): number => Math.round(part + (255 - part) * paling)
  return [pale(r), pale(g), pale(b)]
}

/** `heat` at 256 steps, for painting many cells. */
export function heatTable(theme: Theme): readonly Rgb[] {
  return Array.from({ length: 256 }, (_, step) => heat(step / 255, theme))
}

export function rgbText(colour: Rgb): string {
  return `rgb(${colour[0]} ${colour[1]} ${colour[2]})`
}
