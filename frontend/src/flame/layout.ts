/** Where the boxes of a flame graph lie: the root on top, callees below, each as wide as its weight. */

import type { FlameNode, FlameTree } from '@/flame/tree'
import { pathOf, widthIn } from '@/flame/tree'

/** `time` leaves nodes where they are: the server has put them in the order of the samples. */
export type FlameOrder = 'heavy' | 'name' | 'time'

export interface FlameBox {
  node: FlameNode
  /** Left edge and width as shares of the graph's width. */
  left: number
  width: number
  row: number
  /** An ancestor of what is zoomed to: it spans the graph, whatever its weight. */
  above: boolean
}

function ordered(tree: FlameTree, nodes: readonly FlameNode[], order: FlameOrder): FlameNode[] {
  const byName = (a: FlameNode, b: FlameNode): number => {
    const first = a.frame.function + a.frame.file
    const second = b.frame.function + b.frame.file
    return first < second ? -1 : first > second ? 1 : a.frame.line - b.frame.line
  }
  const byWeight = (a: FlameNode, b: FlameNode): number => widthIn(tree, b) - widthIn(tree, a)
  if (order === 'time') return [...nodes]
  return [...nodes].sort((a, b) => (order === 'heavy' ? byWeight(a, b) : 0) || byName(a, b))
}

/** Boxes of `focus` and all below it, and of its ancestors over it. Boxes narrower than `minWidth` are left out. */
export function layout(tree: FlameTree, focus: FlameNode, order: FlameOrder, minWidth: number): FlameBox[] {
  const above = pathOf(focus).slice(0, -1)
  const boxes: FlameBox[] = above.map((node, row) => ({ node, left: 0, width: 1, row, above: true }))
  const whole = widthIn(tree, focus)
  if (whole <= 0) return boxes
  const first = above.length
  const stack: FlameBox[] = []
  const push = (nodes: readonly FlameNode[], from: number, row: number): void => {
    let left = from
    for (const node of ordered(tree, nodes, order)) {
      const width = widthIn(tree, node) / whole
      if (width >= minWidth) stack.push({ node, left, width, row, above: false })
      left += width
    }
  }
  push(focus.parent ? [focus] : focus.children, 0, first)
  for (let box = stack.pop(); box; box = stack.pop()) {
    boxes.push(box)
    push(box.node.children, box.left, box.row + 1)
  }
  return boxes
}

export function rowsOf(boxes: readonly FlameBox[]): number {
  return boxes.reduce((most, box) => Math.max(most, box.row + 1), 0)
}

export function boxAt(boxes: readonly FlameBox[], x: number, row: number): FlameBox | null {
  return boxes.find((box) => box.row === row && x >= box.left && x < box.left + box.width) ?? null
}

export type Direction = 'up' | 'down' | 'left' | 'right'

/** The box that a key leads to from another one; the first where none is chosen yet. */
export function neighbourBox(boxes: readonly FlameBox[], from: FlameNode | null, direction: Direction): FlameBox | null {
  const at = boxes.find((box) => box.node === from)
  if (!at) return boxes[0] ?? null
  if (direction === 'up') return boxes.find((box) => box.node === at.node.parent) ?? null
  if (direction === 'down') {
    const below = boxes.filter((box) => box.node.parent === at.node)
    return below.reduce<FlameBox | null>((best, box) => (best && best.left <= box.left ? best : box), null)
  }
  const side = direction === 'left' ? -1 : 1
  const row = boxes.filter((box) => box.row === at.row && (box.left - at.left) * side > 0)
  return row.reduce<FlameBox | null>((best, box) => (best && (best.left - box.left) * side <= 0 ? best : box), null)
}
