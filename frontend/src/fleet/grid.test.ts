import { describe, expect, it } from 'vitest'
import { activity } from '@/fleet/activity'
import type { GridHost } from '@/fleet/grid'
import { cellAt, layoutGrid, moved } from '@/fleet/grid'

function host(name: string, gpus: number): GridHost {
  return { host: name, quiet: false, cells: Array.from({ length: gpus }, () => 0.5), gpus: Array.from({ length: gpus }, (_, i) => i), told: '' }
}
const fleet = (count: number, gpus = 8): GridHost[] => Array.from({ length: count }, (_, i) => host(`h${i}`, gpus))

describe('the size of cells', () => {
  it('puts a thousand hosts of eight GPUs on one screen, in their order', () => {
    const grid = layoutGrid(fleet(1000), 1384, 300)
    expect(grid.blocks).toHaveLength(1000)
    expect(grid.height).toBeLessThan(660)
    expect(grid.blocks[0]?.host.host).toBe('h0')
    expect(Math.max(...grid.blocks.map((block) => block.left + block.width))).toBeLessThanOrEqual(1384)
  })

  it('names hosts while there is room for it', () => {
    expect(layoutGrid(fleet(4), 1384, 300).size.name).toBeGreaterThan(0)
    expect(layoutGrid(fleet(400), 1384, 300).size.name).toBe(0)
    expect(layoutGrid(fleet(40, 8), 360, 300).blocks.every((block) => block.left + block.width <= 360)).toBe(true)
  })

  it('lets no two hosts overlap', () => {
    for (const count of [2, 40, 120, 1000]) {
      const grid = layoutGrid([...fleet(count), host('wide', 16)], 1000, 300)
      const places = new Set(grid.blocks.map((block) => `${block.left} ${block.top}`))
      expect(places.size).toBe(count + 1)
      const first = grid.blocks[0]
      const second = grid.blocks[1]
      expect(second && first && second.left - first.left).toBeGreaterThan(16 * grid.size.width)
    }
  })
})

it('finds the cell under the pointer and nothing between hosts', () => {
  const grid = layoutGrid([host('a', 2), host('b', 3)], 400, 300)
  const second = grid.blocks[1]
  const { width, height } = grid.size
  expect(cellAt(grid, (second?.left ?? 0) + 2 * width + 1, (second?.top ?? 0) + 1)).toEqual({ block: 1, cell: 2 })
  expect(cellAt(grid, 2 * width + 1, second?.top ?? 0)).toBeNull()
  expect(cellAt(grid, 1, (second?.top ?? 0) + height + 1)).toBeNull()
})

describe('keys', () => {
  const grid = layoutGrid([...fleet(6, 2), host('last', 4)], 250, 300)

  it('move from GPU to GPU over the ends of hosts', () => {
    expect(moved(grid, null, 'ArrowRight')).toEqual({ block: 0, cell: 0 })
    expect(moved(grid, { block: 0, cell: 1 }, 'ArrowRight')).toEqual({ block: 1, cell: 0 })
    expect(moved(grid, { block: 1, cell: 0 }, 'ArrowLeft')).toEqual({ block: 0, cell: 1 })
    expect(moved(grid, { block: 0, cell: 0 }, 'ArrowLeft')).toEqual({ block: 0, cell: 0 })
  })

  it('move between rows and stay inside', () => {
    const { columns } = grid
    expect(columns).toBeGreaterThan(1)
    expect(moved(grid, { block: 0, cell: 1 }, 'ArrowDown')).toEqual({ block: columns, cell: 1 })
    expect(moved(grid, { block: columns, cell: 1 }, 'ArrowUp')).toEqual({ block: 0, cell: 1 })
    expect(moved(grid, { block: 0, cell: 1 }, 'ArrowUp')).toEqual({ block: 0, cell: 1 })
    expect(moved(grid, null, 'End')).toEqual({ block: 6, cell: 3 })
    expect(moved(grid, { block: 6, cell: 3 }, 'Home')).toEqual({ block: 0, cell: 0 })
  })

  it('that are none of the grid move nothing', () => {
    expect(moved(grid, { block: 0, cell: 0 }, 'x')).toBeNull()
    expect(moved(layoutGrid([], 300, 300), null, 'ArrowRight')).toBeNull()
  })
})

it('tells the mean of what is known', () => {
  expect(activity([null, 0.2, 0.4])).toBeCloseTo(0.3)
  expect(activity([null])).toBeNull()
})
