/** What is said of a node: its name, its place and its figures on each side. */

import { percent, weight } from '@/format/quantity'
import type { FlameNode, FlameTree } from '@/flame/tree'
import { shares } from '@/flame/tree'
import { words } from '@/language/words'

export interface ToldFigure {
  label: string
  /** Samples and their share, on this side and, in a difference, on the other. */
  figures: string[]
}

export interface ToldNode {
  name: string
  place: string
  rows: ToldFigure[]
  /** Heads of the figures' columns; empty where there is one column. */
  heads: string[]
}

/** A difference of shares in points, with its sign. */
export function pointsText(difference: number): string {
  const value = difference * 100
  const text = Math.abs(value) < 9.95 ? value.toFixed(1) : value.toFixed(0)
  return words.value.flame.points(value > 0 ? `+${text}` : text)
}

export function placeOf({ file, line }: { file: string; line: number }): string {
  return line >= 0 && file ? `${file}:${line}` : file
}

function figureOf(tree: FlameTree, label: string, own: number, other: number): ToldFigure {
  const { share, otherShare } = shares(tree, own, other)
  const told = (value: number, part: number): string => `${weight(value)} · ${percent(part)}`
  if (!tree.isDifference) return { label, figures: [told(own, share)] }
  return { label, figures: [told(own, share), told(other, otherShare), pointsText(share - otherShare)] }
}

export function toldNode(tree: FlameTree, node: FlameNode): ToldNode {
  const { flame } = words.value
  return {
    name: node.parent ? node.frame.function : flame.allFunctions,
    place: placeOf(node.frame),
    heads: tree.isDifference ? [...(tree.sides ?? [flame.inGaps, flame.outside]), flame.difference] : [],
    rows: [figureOf(tree, flame.total, node.total, node.otherTotal), figureOf(tree, flame.own, node.own, node.otherOwn)],
  }
}
