/** Paints the boxes of a flame graph. */

import type { Ink } from '@/canvas/ink'
import { hatch } from '@/canvas/patterns'
import { differenceColour, FLAME_TEXT, packageColour } from '@/flame/colours'
import type { FlameBox } from '@/flame/layout'
import type { FlameNode, FlameTree } from '@/flame/tree'
import { shares } from '@/flame/tree'

export const ROW_HEIGHT = 20
const MIN_TEXT_WIDTH = 28
const TEXT_INSET = 5
const DIMMED = 0.28

export interface FlamePaint {
  tree: FlameTree
  boxes: readonly FlameBox[]
  /** Colours of the packages. */
  colours: ReadonlyMap<string, string>
  width: number
  ink: Ink
  /** Nodes that are looked for; null where nothing is. */
  found: ReadonlySet<FlameNode> | null
}

function colourOf({ tree, colours }: FlamePaint, node: FlameNode): string {
  if (!tree.isDifference) return packageColour(node.frame, colours)
  const { share, otherShare } = shares(tree, node.total, node.otherTotal)
  return differenceColour(share - otherShare)
}

/** As much of a name as there is room for: a long one keeps its beginning. */
export function fitted(text: string, room: number, measure: (text: string) => number): string {
  if (measure(text) <= room) return text
  let low = 0
  let high = text.length
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (measure(`${text.slice(0, middle)}…`) <= room) low = middle
    else high = middle - 1
  }
  return low > 1 ? `${text.slice(0, low)}…` : ''
}

function paintBox(context: CanvasRenderingContext2D, paint: FlamePaint, box: FlameBox): void {
  const left = box.left * paint.width
  const top = box.row * ROW_HEIGHT
  const right = (box.left + box.width) * paint.width
  const width = Math.max(1, right - left - (right - left > 3 ? 1 : 0))
  const matched = paint.found?.has(box.node) ?? false
  context.globalAlpha = box.above ? 0.55 : paint.found && !matched ? DIMMED : 1
  context.fillStyle = colourOf(paint, box.node)
  context.fillRect(left, top, width, ROW_HEIGHT - 1)
  if (matched && !paint.tree.isDifference) {
    const lines = hatch(context, FLAME_TEXT)
    context.globalAlpha = 0.22
    if (lines) context.fillStyle = lines
    context.fillRect(left, top, width, ROW_HEIGHT - 1)
  }
  context.globalAlpha = 1
  const from = Math.max(0, left)
  const room = Math.min(paint.width, left + width) - from - 2 * TEXT_INSET
  if (room < MIN_TEXT_WIDTH) return
  // Dimmed boxes let the theme's ground through, so their text takes its colour.
  context.fillStyle = (paint.found && !matched) || box.above ? paint.ink('text') : FLAME_TEXT
  const text = fitted(box.node.frame.function, room, (part) => context.measureText(part).width)
  context.fillText(text, from + TEXT_INSET, top + 14)
}

function outline(context: CanvasRenderingContext2D, paint: FlamePaint, node: FlameNode | null, lineWidth: number): void {
  const box = node && paint.boxes.find((item) => item.node === node)
  if (!box) return
  context.strokeStyle = paint.ink('text')
  context.lineWidth = lineWidth
  const inset = lineWidth / 2
  context.strokeRect(
    box.left * paint.width + inset, box.row * ROW_HEIGHT + inset,
    Math.max(2, box.width * paint.width - lineWidth - 1), ROW_HEIGHT - 1 - lineWidth,
  )
}

export function paintBoxes(context: CanvasRenderingContext2D, paint: FlamePaint): void {
  context.font = '500 12px "Inter Variable", sans-serif'
  for (const box of paint.boxes) paintBox(context, paint, box)
}

export function paintOutlines(context: CanvasRenderingContext2D, paint: FlamePaint, pointed: FlameNode | null, chosen: FlameNode | null): void {
  outline(context, paint, pointed, 1)
  outline(context, paint, chosen, 2)
}
