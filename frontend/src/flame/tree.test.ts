import { describe, expect, it } from 'vitest'
import type { Flame } from '@/api/analysisSchema'
import { byOf, flameQuery, orderOf } from '@/flame/choice'
import { differenceColour, packageColour, packageColours, packageOf } from '@/flame/colours'
import { functionWeights } from '@/flame/functions'
import { boxAt, layout, neighbourBox, rowsOf } from '@/flame/layout'
import { functionKey, inverted, matches, merged, sandwich, treeOf, walk, widthIn } from '@/flame/tree'

/** main -> load -> decode (60), main -> load (10), main -> step -> load (20), main -> step (10). */
function answer(more: Partial<Flame> = {}): Flame {
  const frame = (name: string, line: number) => ({ function: name, file: `app/${name}.py`, line })
  return {
    where: 'gaps', against: null, samples: 120, weight: 100, other_weight: 0, known_share: 1,
    frames: [frame('main', 1), frame('load', 2), frame('decode', 3), frame('step', 4), frame('load', 9)],
    nodes: {
      frame: [0, 1, 2, 3, 4], parent: [-1, 0, 1, 0, 3], total: [100, 70, 60, 30, 20], own: [0, 10, 60, 10, 20],
      other_total: [], other_own: [],
    },
    ...more,
  }
}

const named = (name: string) => functionKey({ function: name, file: `app/${name}.py`, line: 0 })

it('leaves what comes in the order of time where it is', () => {
  const nodes = { frame: [0, 1, 2, 1], parent: [-1, 0, 0, 0], total: [100, 10, 60, 30], own: [0, 10, 60, 30], other_total: [], other_own: [] }
  const tree = treeOf(answer({ nodes }))
  const names = (order: 'time' | 'heavy') => layout(tree, tree.root, order, 0).filter((box) => box.row === 1).sort((a, b) => a.left - b.left).map((box) => box.node.total)
  expect(names('time')).toEqual([10, 60, 30])
  expect(names('heavy')).toEqual([60, 30, 10])
  expect(flameQuery({ mode: 'gaps', by: 'none', onCpu: false, inTime: true })).toMatchObject({ order: 'time', by: 'thread', where: 'gaps' })
  expect([orderOf('time'), orderOf('what'), orderOf(undefined), byOf('thread'), byOf(['thread'])]).toEqual(['time', 'heavy', 'heavy', 'thread', 'none'])
  expect(flameQuery({ mode: 'gaps', by: 'none', onCpu: false })).not.toHaveProperty('order')
})

describe('a tree', () => {
  it('turned upside down keeps what ends where', () => {
    const turned = inverted(treeOf(answer()))
    const roots = Object.fromEntries(turned.root.children.map((node) => [`${node.frame.function}:${node.frame.line}`, node.total]))
    expect(roots).toEqual({ 'decode:3': 60, 'load:2': 10, 'step:4': 10, 'load:9': 20 })
    const decode = turned.root.children.find((node) => node.frame.function === 'decode')
    expect(decode?.children[0]?.frame.function).toBe('load')
    expect([...walk(turned.root)].reduce((sum, node) => sum + node.own, 0)).toBe(100)
  })

  it('around a function has its callers and what it calls, of all its lines', () => {
    const { callers, callees } = sandwich(treeOf(answer()), named('load'))
    expect(callees.root.total).toBe(90)
    expect(callees.root.children).toHaveLength(1)
    expect(callees.root.children[0]?.own).toBe(30)
    expect(callees.root.children[0]?.children.map((node) => [node.frame.function, node.total])).toEqual([['decode', 60]])
    const above = callers.root.children[0]?.children.map((node) => [node.frame.function, node.total])
    expect(above).toEqual(expect.arrayContaining([['main', 70], ['step', 20]]))
  })

  it('finds text in any case and counts a stack once', () => {
    const tree = treeOf(answer())
    expect(matches(tree, ' LOAD')?.share).toBe(0.9)
    expect(matches(tree, 'app/')?.share).toBe(1)
    expect(matches(tree, 'nowhere')?.nodes.size).toBe(0)
    expect(matches(tree, ' ')).toBeNull()
  })

  it('merged with another has both sides', () => {
    const other = answer({ weight: 50, nodes: { frame: [0, 3], parent: [-1, 0], total: [50, 50], own: [0, 50], other_total: [], other_own: [] } })
    const both = merged(treeOf(answer()), treeOf(other), ['b', 'a'])
    const told = [...walk(both.root)].map((node) => [node.frame.function, node.total, node.otherTotal])
    expect(told).toEqual(expect.arrayContaining([['main', 100, 50], ['step', 30, 50], ['decode', 60, 0]]))
    expect([both.weight, both.otherWeight, both.isDifference]).toEqual([100, 50, true])
  })

  it('counts a recursion once in the list of functions', () => {
    const looped = answer({ nodes: { frame: [0, 0, 2], parent: [-1, 0, 1], total: [100, 80, 50], own: [20, 30, 50], other_total: [], other_own: [] } })
    expect(functionWeights(treeOf(looped)).map((row) => [row.function, row.own, row.total])).toEqual([['main', 50, 100], ['decode', 50, 50]])
  })
})

describe('boxes', () => {
  it('are as wide as their weight, the heaviest first', () => {
    const tree = treeOf(answer())
    const boxes = layout(tree, tree.root, 'heavy', 0)
    const told = boxes.map((box) => [box.node.frame.function, box.row, box.left, box.width])
    expect(told).toEqual(expect.arrayContaining([['main', 0, 0, 1], ['load', 1, 0, 0.7], ['step', 1, 0.7, 0.3], ['decode', 2, 0, 0.6]]))
    expect(rowsOf(boxes)).toBe(3)
    expect(boxAt(boxes, 0.75, 1)?.node.frame.function).toBe('step')
    expect(boxAt(boxes, 0.65, 2)).toBeNull()
    expect(layout(tree, tree.root, 'heavy', 0.25).some((box) => box.node.frame.line === 9)).toBe(false)
  })

  it('of what is zoomed to fill the width, under their ancestors', () => {
    const tree = treeOf(answer())
    const step = tree.root.children[0]?.children[1]
    if (!step) throw new Error('no step')
    const boxes = layout(tree, step, 'name', 0)
    expect(boxes.map((box) => [box.node.frame.function, box.row, box.above])).toEqual([['main', 0, true], ['step', 1, false], ['load', 2, false]])
    expect(boxes[1]?.width).toBe(1)
    expect(boxes[2]?.width).toBeCloseTo(2 / 3)
  })

  it('are walked by the arrow keys', () => {
    const tree = treeOf(answer())
    const boxes = layout(tree, tree.root, 'heavy', 0)
    const main = neighbourBox(boxes, null, 'down')
    expect(main?.node.frame.function).toBe('main')
    const load = neighbourBox(boxes, main?.node ?? null, 'down')
    expect(load?.node.frame.function).toBe('load')
    const step = neighbourBox(boxes, load?.node ?? null, 'right')
    expect(step?.node.frame.function).toBe('step')
    expect(neighbourBox(boxes, step?.node ?? null, 'right')).toBeNull()
    expect(neighbourBox(boxes, step?.node ?? null, 'left')?.node).toBe(load?.node)
    expect(neighbourBox(boxes, step?.node ?? null, 'up')?.node).toBe(main?.node)
  })

  it('of a difference show what is on one side only', () => {
    const nodes = { frame: [0, 1, 3], parent: [-1, 0, 0], total: [100, 100, 0], own: [0, 100, 0], other_total: [10, 0, 10], other_own: [0, 0, 10] }
    const tree = treeOf(answer({ against: 'outside', other_weight: 10, nodes }))
    expect(tree.root.children[0]?.children.map((node) => widthIn(tree, node))).toEqual([0.5, 0.5])
  })
})

it('gives the packages in which most samples end colours of their own', () => {
  const colours = packageColours(treeOf(answer({ frames: [0, 1, 2, 3, 4].map((i) => ({ function: 'f', file: i === 2 ? 'PIL/Image.py' : 'app/a.py', line: i })) })))
  expect(colours.map((item) => [item.name, item.own])).toEqual([['PIL', 60], ['app', 40]])
  const known = new Map(colours.map((item) => [item.name, item.colour]))
  const seen = ['PIL/Image.py', 'app/b.py', '/usr/lib/python3.11/json.py', ''].map((file) => packageColour({ function: 'f', file, line: 1 }, known))
  expect(new Set(seen).size).toBe(4)
})

it('colours a difference by its side and its size', () => {
  expect(differenceColour(0)).toBe('rgb(222 226 231)')
  expect(differenceColour(0.5)).toBe('rgb(240 150 60)')
  expect(differenceColour(-0.5)).toBe('rgb(90 165 235)')
})

it.each([['PIL/Image.py', 'PIL'], ['app.py', 'app.py'], ['/srv/app/app.py', 'app.py'], ['', '']])('%s is of the package %s', (file, name) => {
  expect(packageOf(file)).toBe(name)
})
