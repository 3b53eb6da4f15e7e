/**
 * Cividis (Nuñez, Anderton, Renslow 2018): even in lightness and readable with any colour vision.
 * Dark theme: the low end, which would vanish in the background, is cut. Light theme: reversed, so that more is darker;
 * the yellow end, which would shout where nothing happens, is cut and paled towards the paper.
 */

export type Theme = 'light' | 'dark'
export type Rgb = readonly [number, number, number]

/** The published map at ten even steps: #00204D to #FFEA46. */
const ANCHORS: readonly Rgb[] = [
  [0, 32, 77], [0, 51, 111], [57, 72, 107], [87, 92, 109], [112, 113, 115],
  [138, 135, 121], [166, 157, 117], [196, 181, 108], [228, 207, 91], [255, 234, 70],
]
const DARK_FLOOR = 0.12
/** The part of the map that light leaves out at its yellow end. */
const LIGHT_CUT = 0.25
/** How far the lowest value goes towards the paper on light, and how fast that fades. */
const LIGHT_PALING = 0.92
const LIGHT_FADE = 1.5
const PAPER: Rgb = [244, 246, 249]

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
  const paling = LIGHT_PALING * (1 - value) ** LIGHT_FADE
  const plain = cividis((1 - value) * (1 - LIGHT_CUT))
  const pale = (part: 0 | 1 | 2): number => Math.round(plain[part] + (PAPER[part] - plain[part]) * paling)
  return [pale(0), pale(1), pale(2)]
}

/** `heat` at 256 steps, for painting many cells. */
export function heatTable(theme: Theme): readonly Rgb[] {
  return Array.from({ length: 256 }, (_, step) => heat(step / 255, theme))
}

export function rgbText(colour: Rgb): string {
  return `rgb(${colour[0]} ${colour[1]} ${colour[2]})`
}
