/** A flame graph as a list of functions: what the table tells, and what a screen reader reads. */

import type { FlameTree } from '@/flame/tree'
import { functionKey, walk } from '@/flame/tree'

export interface FunctionWeight {
  key: string
  function: string
  file: string
  total: number
  own: number
  otherTotal: number
  otherOwn: number
}

/** Names of the functions in which most samples end, on both sides. */
export function topFunctions(tree: FlameTree, count: number): string[] {
  const own = new Map<string, number>()
  for (const { frame, own: here, otherOwn } of walk(tree.root)) {
    if (here > 0 || otherOwn > 0) own.set(frame.function, (own.get(frame.function) ?? 0) + here + otherOwn)
  }
  return [...own].sort((a, b) => b[1] - a[1]).slice(0, count).map(([name]) => name)
}

/** Functions with what ends in them and what is in or below them; a recursion counts once. The heaviest own weight first. */
export function functionWeights(tree: FlameTree): FunctionWeight[] {
  const found = new Map<string, FunctionWeight>()
  for (const node of walk(tree.root)) {
    if (!node.parent) continue
    const key = functionKey(node.frame)
    const { function: name, file } = node.frame
    let row = found.get(key)
    if (!row) found.set(key, (row = { key, function: name, file, total: 0, own: 0, otherTotal: 0, otherOwn: 0 }))
    row.own += node.own
    row.otherOwn += node.otherOwn
    let above = node.parent
    while (above.parent && functionKey(above.frame) !== key) above = above.parent
    if (above.parent) continue
    row.total += node.total
    row.otherTotal += node.otherTotal
  }
  return [...found.values()].sort((a, b) => b.own - a.own || b.otherOwn - a.otherOwn || b.total - a.total)
}
