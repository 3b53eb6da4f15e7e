/**
 * Colours of flame graphs. The packages with most samples have a pale colour each, all with dark text; a difference goes from blue (more outside
 * the gaps) over grey to orange (more in gaps), which any colour vision tells apart.
 */

import type { FlameFrame } from '@/api/analysisSchema'
import type { Rgb } from '@/colour/cividis'
import { rgbText } from '@/colour/cividis'
import type { FlameTree } from '@/flame/tree'
import { walk } from '@/flame/tree'
import { RIBBON_COLOURS, RIBBON_TEXT } from '@/timeline/ribbon'

export const FLAME_TEXT = RIBBON_TEXT
const ROOT_COLOUR = '#c3cad3'
const STANDARD_COLOUR = '#d4d9df'
const MORE: Rgb = [240, 150, 60]
const LESS: Rgb = [90, 165, 235]
const EVEN: Rgb = [222, 226, 231]
/** A difference of shares that gets the full colour. */
const FULL = 0.25

/** The package of a file: its first folder, or the file itself; the standard library has none of these. */
export function packageOf(file: string): string {
  const parts = file.split('/').filter(Boolean)
  return parts.length > 1 && !file.startsWith('/') ? (parts[0] as string) : (parts.at(-1) ?? '')
}

function isStandard(file: string): boolean {
  return file.startsWith('<') || /(^|\/)(python3(\.\d+)?|lib)\//.test(file)
}

export interface PackageColour {
  name: string
  colour: string
  /** Samples that end in it, on both sides. */
  own: number
}

/** The packages of a tree, those in which most samples end first; the last colour is shared by the rest. */
export function packageColours(tree: FlameTree): PackageColour[] {
  const own = new Map<string, number>()
  for (const { frame, own: here, otherOwn } of walk(tree.root)) {
    if (!frame.file || isStandard(frame.file)) continue
    const name = packageOf(frame.file)
    own.set(name, (own.get(name) ?? 0) + here + otherOwn)
  }
  return [...own].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).map(([name, weight], rank) => ({
    name, own: weight, colour: RIBBON_COLOURS[Math.min(rank, RIBBON_COLOURS.length - 1)] as string,
  }))
}

export function packageColour(frame: FlameFrame, colours: ReadonlyMap<string, string>): string {
  if (!frame.file) return ROOT_COLOUR
  return colours.get(packageOf(frame.file)) ?? STANDARD_COLOUR
}

/** `difference` is the share in gaps less that outside, -1..1. */
export function differenceColour(difference: number): string {
  const part = Math.min(1, Math.abs(difference) / FULL) ** 0.7
  const end = difference >= 0 ? MORE : LESS
  const mix = (i: 0 | 1 | 2): number => Math.round(EVEN[i] + (end[i] - EVEN[i]) * part)
  return rgbText([mix(0), mix(1), mix(2)])
}
