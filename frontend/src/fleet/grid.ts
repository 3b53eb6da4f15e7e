/** Many GPUs on one screen: a cell a GPU, the cells of a host side by side, hosts in rows. Pure geometry. */

import type { HostSummary } from '@/api/schema'

/** Pixels: a cell is tall and narrow, so that the GPUs of a host read as one block. */
export const CELL_WIDTH = 6
export const CELL_HEIGHT = 12
const HOST_GAP = 6
const ROW_GAP = 4

export interface Block {
  host: HostSummary
  left: number
  top: number
  width: number
}

export interface Grid {
  blocks: Block[]
  height: number
}

/** Blocks in the order of the hosts, each as wide as the largest host, so that columns stand under each other. */
export function layoutGrid(hosts: readonly HostSummary[], width: number): Grid {
  const cells = Math.max(1, ...hosts.map((host) => host.gpus.length))
  const blockWidth = cells * CELL_WIDTH
  const columns = Math.max(1, Math.floor((width + HOST_GAP) / (blockWidth + HOST_GAP)))
  const blocks = hosts.map((host, i) => ({
    host,
    left: (i % columns) * (blockWidth + HOST_GAP),
    top: Math.floor(i / columns) * (CELL_HEIGHT + ROW_GAP),
    width: Math.max(1, host.gpus.length) * CELL_WIDTH,
  }))
  const rows = Math.ceil(hosts.length / columns)
  return { blocks, height: Math.max(0, rows * (CELL_HEIGHT + ROW_GAP) - ROW_GAP) }
}

/** The block under a point, with some tolerance between rows. */
export function blockAt(grid: Grid, x: number, y: number): Block | null {
  return grid.blocks.find((block) =>
    x >= block.left && x < block.left + block.width && y >= block.top && y < block.top + CELL_HEIGHT) ?? null
}

/** Mean of what is known of a GPU's last minute: one flicker must not colour the whole cell. */
export function activity(values: readonly (number | null)[]): number | null {
  let sum = 0
  let count = 0
  for (const value of values) {
    if (value === null) continue
    sum += value
    count += 1
  }
  return count ? sum / count : null
}
