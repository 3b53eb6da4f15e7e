/** Flame graphs as trees: from the answer's columns, turned upside down, or around one function (a sandwich). */

import type { Flame, FlameFrame } from '@/api/analysisSchema'

export interface FlameNode {
  frame: FlameFrame
  parent: FlameNode | null
  children: FlameNode[]
  /** Weight of the samples in it or below, and of those that end in it; both sides of a difference. */
  total: number
  own: number
  otherTotal: number
  otherOwn: number
}

/** A tree with what its weights are shares of. The root is no function: it stands for all samples. */
export interface FlameTree {
  root: FlameNode
  weight: number
  otherWeight: number
  isDifference: boolean
  /** What the two sides of a difference are called; gaps and outside where nothing is said. */
  sides?: readonly [string, string]
}

const ALL: FlameFrame = { function: '', file: '', line: -1 }

function emptyNode(frame: FlameFrame, parent: FlameNode | null): FlameNode {
  return { frame, parent, children: [], total: 0, own: 0, otherTotal: 0, otherOwn: 0 }
}

export function treeOf(flame: Flame): FlameTree {
  const { nodes, frames } = flame
  const root = emptyNode(ALL, null)
  const made: FlameNode[] = []
  nodes.frame.forEach((frame, i) => {
    const parent = made[nodes.parent[i] ?? -1] ?? root
    const node = emptyNode(frames[frame] ?? ALL, parent)
    node.total = nodes.total[i] ?? 0
    node.own = nodes.own[i] ?? 0
    node.otherTotal = nodes.other_total[i] ?? 0
    node.otherOwn = nodes.other_own[i] ?? 0
    parent.children.push(node)
    made.push(node)
  })
  root.total = flame.weight
  root.otherTotal = flame.other_weight
  return { root, weight: flame.weight, otherWeight: flame.other_weight, isDifference: flame.against !== null }
}

/** A function, wherever in its body: what one looks for and what a sandwich is about. */
export function functionKey({ function: name, file }: FlameFrame): string {
  return `${name}\n${file}`
}

/** Nodes from the root down, a parent before its children. */
export function* walk(node: FlameNode): Generator<FlameNode> {
  const stack = [node]
  for (let next = stack.pop(); next; next = stack.pop()) {
    yield next
    stack.push(...next.children)
  }
}

/** From below the root down to the node. */
export function pathOf(node: FlameNode): FlameNode[] {
  return [...upwards(node)].reverse()
}

/** From the node up to below the root. */
function* upwards(node: FlameNode): Generator<FlameNode> {
  for (let at: FlameNode | null = node; at?.parent; at = at.parent) yield at
}

const lineKeys = new WeakMap<FlameFrame, string>()

/** A function at a line, as one text; made once a frame. */
function lineKey(frame: FlameFrame): string {
  let key = lineKeys.get(frame)
  if (key === undefined) lineKeys.set(frame, (key = `${functionKey(frame)}\n${frame.line}`))
  return key
}

/** Trees that grow by paths: a frame once below its parent. */
class Grower {
  readonly root = emptyNode(ALL, null)
  private readonly known = new Map<FlameNode, Map<string, FlameNode>>()

  child(parent: FlameNode, frame: FlameFrame): FlameNode {
    let children = this.known.get(parent)
    if (!children) this.known.set(parent, (children = new Map()))
    const key = lineKey(frame)
    let node = children.get(key)
    if (!node) {
      node = emptyNode(frame, parent)
      parent.children.push(node)
      children.set(key, node)
    }
    return node
  }
}

function add(node: FlameNode, total: number, otherTotal: number): void {
  node.total += total
  node.otherTotal += otherTotal
}

/** The innermost functions at the root, their callers below. */
export function inverted(tree: FlameTree): FlameTree {
  const grower = new Grower()
  for (const node of walk(tree.root)) {
    if (!node.parent || (node.own <= 0 && node.otherOwn <= 0)) continue
    let at = grower.root
    for (const step of upwards(node)) {
      at = grower.child(at, step.frame)
      add(at, node.own, node.otherOwn)
    }
    at.own += node.own
    at.otherOwn += node.otherOwn
  }
  add(grower.root, tree.root.total, tree.root.otherTotal)
  return { ...tree, root: grower.root }
}

export interface Sandwich {
  callers: FlameTree
  callees: FlameTree
}

/** The outermost occurrences of a function: what is below one of them is counted there already. */
function occurrences(tree: FlameTree, key: string): FlameNode[] {
  const found: FlameNode[] = []
  const stack = [tree.root]
  for (let node = stack.pop(); node; node = stack.pop()) {
    if (node.parent && functionKey(node.frame) === key) found.push(node)
    else stack.push(...node.children)
  }
  return found
}

function graft(grower: Grower, into: FlameNode, from: FlameNode): void {
  add(into, from.total, from.otherTotal)
  into.own += from.own
  into.otherOwn += from.otherOwn
  for (const child of from.children) graft(grower, grower.child(into, child.frame), child)
}

/** Who calls a function, upside down, and what it calls; each with the function itself at the root. */
export function sandwich(tree: FlameTree, key: string): Sandwich {
  const callers = new Grower()
  const callees = new Grower()
  for (const node of occurrences(tree, key)) {
    const frame = { ...node.frame, line: -1 }
    graft(callees, callees.child(callees.root, frame), node)
    add(callees.root, node.total, node.otherTotal)
    let at = callers.root
    add(at, node.total, node.otherTotal)
    for (const step of upwards(node)) {
      at = callers.child(at, step === node ? frame : step.frame)
      add(at, node.total, node.otherTotal)
    }
    at.own += node.total
    at.otherOwn += node.otherTotal
  }
  return { callers: { ...tree, root: callers.root }, callees: { ...tree, root: callees.root } }
}

/** Share of the samples on each side; 0 where a side has none. */
export function shares(tree: FlameTree, total: number, otherTotal: number): { share: number; otherShare: number } {
  return { share: tree.weight ? total / tree.weight : 0, otherShare: tree.otherWeight ? otherTotal / tree.otherWeight : 0 }
}

/** How wide a node is: its weight, or the mean of both sides' shares so that neither side hides the other. */
export function widthIn(tree: FlameTree, node: FlameNode): number {
  if (!tree.isDifference) return node.total
  const { share, otherShare } = shares(tree, node.total, node.otherTotal)
  return (share + otherShare) / 2
}

function graftSide(grower: Grower, into: FlameNode, from: FlameNode, isOther: boolean): void {
  if (isOther) {
    into.otherTotal += from.total
    into.otherOwn += from.own
  } else {
    into.total += from.total
    into.own += from.own
  }
  for (const child of from.children) graftSide(grower, grower.child(into, child.frame), child, isOther)
}

/** Two trees as one difference: `one` against `other`. */
export function merged(one: FlameTree, other: FlameTree, sides: readonly [string, string]): FlameTree {
  const grower = new Grower()
  graftSide(grower, grower.root, one.root, false)
  graftSide(grower, grower.root, other.root, true)
  return { root: grower.root, weight: one.weight, otherWeight: other.weight, isDifference: true, sides }
}

export interface FlameMatch {
  nodes: Set<FlameNode>
  /** Share of the samples with a match on their stack, on each side. */
  share: number
  otherShare: number
}

/** Nodes whose function or file contains the text, in any case; null for an empty text. */
export function matches(tree: FlameTree, text: string): FlameMatch | null {
  const wanted = text.trim().toLowerCase()
  if (!wanted) return null
  const nodes = new Set<FlameNode>()
  let total = 0
  let otherTotal = 0
  const stack: [FlameNode, boolean][] = [[tree.root, false]]
  for (let next = stack.pop(); next; next = stack.pop()) {
    const [node, below] = next
    const { function: name, file } = node.frame
    const hit = node.parent !== null && `${name} ${file}`.toLowerCase().includes(wanted)
    if (hit) nodes.add(node)
    if (hit && !below) {
      total += node.total
      otherTotal += node.otherTotal
    }
    for (const child of node.children) stack.push([child, below || hit])
  }
  return { nodes, ...shares(tree, total, otherTotal) }
}
