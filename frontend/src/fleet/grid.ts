/** Many GPUs on one screen: a cell a GPU, the cells of a host side by side, hosts in rows. Pure geometry. */

/** A host as cells; null: no data. `quiet` ones are drawn pale. */
export interface GridHost {
  host: string
  quiet: boolean
  cells: (number | null)[]
  /** Index of each cell's GPU. */
  gpus: number[]
  /** What is told of it in words. */
  told: string
}

export interface CellSize {
  width: number
  height: number
  /** Room over the cells for the host's name; 0: none. */
  name: number
}

/** Pixels, widest first; the last is for a thousand hosts: tall and narrow, so that a host's GPUs read as one block. */
const SIZES: readonly CellSize[] = [
  { width: 26, height: 20, name: 16 },
  { width: 14, height: 16, name: 16 },
  { width: 10, height: 14, name: 0 },
  { width: 6, height: 12, name: 0 },
]
const HOST_GAP = 6
const NAMED_GAP = 12
const ROW_GAP = 4
/** A name needs so much to be readable. */
const NAME_WIDTH = 104

export interface Block {
  host: GridHost
  left: number
  /** Of the cells, below the name. */
  top: number
  width: number
}

export interface Grid {
  blocks: Block[]
  columns: number
  size: CellSize
  height: number
}

/** A cell: which block, which GPU of it. */
export interface CellPlace {
  block: number
  cell: number
}

/** Blocks in the order of the hosts at the largest size that fits into `room` pixels of height, else at the smallest. */
export function layoutGrid(hosts: readonly GridHost[], width: number, room: number): Grid {
  const most = hosts.reduce((count, host) => Math.max(count, host.cells.length), 1)
  const grids = SIZES.map((size) => () => laidOut(hosts, width, size, most))
  for (const make of grids.slice(0, -1)) {
    const grid = make()
    if (grid.height <= room) return grid
  }
  return (grids.at(-1) as () => Grid)()
}

/** Each block is as wide as that of the largest host, so that columns stand under each other. */
function laidOut(hosts: readonly GridHost[], width: number, size: CellSize, most: number): Grid {
  const blockWidth = Math.max(most * size.width, size.name ? NAME_WIDTH : 0)
  const gap = size.name ? NAMED_GAP : HOST_GAP
  const pitch = size.name + size.height + (size.name ? NAMED_GAP : ROW_GAP)
  const columns = Math.max(1, Math.floor((width + gap) / (blockWidth + gap)))
  const blocks = hosts.map((host, i) => ({
    host,
    left: (i % columns) * (blockWidth + gap),
    top: Math.floor(i / columns) * pitch + size.name,
    width: Math.max(1, host.cells.length) * size.width,
  }))
  const rows = Math.ceil(hosts.length / columns)
  return { blocks, columns, size, height: Math.max(0, (rows - 1) * pitch + size.name + size.height) }
}

/** The cell under a point; null between hosts and rows. */
export function cellAt(grid: Grid, x: number, y: number): CellPlace | null {
  const block = grid.blocks.findIndex((one) =>
    x >= one.left && x < one.left + one.width && y >= one.top - grid.size.name && y < one.top + grid.size.height)
  const found = grid.blocks[block]
  return found ? { block, cell: Math.min(found.host.cells.length - 1, Math.floor((x - found.left) / grid.size.width)) } : null
}

/** Where a key leads from a cell, the first one where there is none; null: it moves nothing. */
export function moved(grid: Grid, from: CellPlace | null, key: string): CellPlace | null {
  const last = grid.blocks.length - 1
  if (last < 0) return null
  const cells = (block: number): number => grid.blocks[block]?.host.cells.length ?? 0
  const place = (block: number, cell: number): CellPlace => ({ block, cell: Math.max(0, Math.min(cell, cells(block) - 1)) })
  if (key === 'Home') return place(0, 0)
  if (key === 'End') return place(last, cells(last) - 1)
  if (!/^Arrow/.test(key)) return null
  if (!from) return place(0, 0)
  const { block, cell } = from
  if (key === 'ArrowRight') return cell < cells(block) - 1 ? place(block, cell + 1) : block < last ? place(block + 1, 0) : from
  if (key === 'ArrowLeft') return cell > 0 ? place(block, cell - 1) : block > 0 ? place(block - 1, cells(block - 1) - 1) : from
  const target = block + (key === 'ArrowDown' ? grid.columns : -grid.columns)
  return target >= 0 && target <= last ? place(target, cell) : from
}
