/** Paints the fleet's cells. */

import type { CellStyle } from '@/fleet/cells'
import { IDLE_BELOW } from '@/fleet/cells'
import type { CellPlace, CellSize, Grid } from '@/fleet/grid'

const QUIET_ALPHA = 0.6
const FRAMED_FROM = 14
const FONT = '11px "Inter Variable", sans-serif'

/** Busy cells are filled; idle ones outlined with a bar, unknown ones empty with a dot: never told by hue alone. */
function paintCell(context: CanvasRenderingContext2D, value: number | null, left: number, top: number, size: CellSize, { ink, colours }: CellStyle): void {
  const width = size.width - 1
  if (value === null) {
    context.fillStyle = ink('missing')
    context.fillRect(left + Math.floor(width / 2) - 1, top + size.height / 2 - 1, 2, 2)
    if (size.width < FRAMED_FROM) return
    context.strokeStyle = ink('missing')
    context.setLineDash([1, 2])
    context.strokeRect(left + 0.5, top + 0.5, width - 1, size.height - 1)
    context.setLineDash([])
    return
  }
  if (value >= IDLE_BELOW) {
    context.fillStyle = colours[Math.min(255, Math.round(value * 255))] as string
    context.fillRect(left, top, width, size.height)
    paintFrame(context, left, top, size, ink)
    return
  }
  context.fillStyle = ink('idle-fill')
  context.fillRect(left, top, width, size.height)
  paintFrame(context, left, top, size, ink)
  context.fillStyle = ink('idle')
  context.fillRect(left, top, width, 2)
}

/** Where cells are large, pale ones need an edge. */
function paintFrame(context: CanvasRenderingContext2D, left: number, top: number, size: CellSize, ink: CellStyle['ink']): void {
  if (size.width < FRAMED_FROM) return
  context.strokeStyle = ink('line-strong')
  context.strokeRect(left + 0.5, top + 0.5, size.width - 2, size.height - 1)
}

/** A name cut to a width. */
function fitted(context: CanvasRenderingContext2D, name: string, width: number): string {
  if (context.measureText(name).width <= width) return name
  let length = name.length - 1
  while (length > 1 && context.measureText(`${name.slice(0, length)}…`).width > width) length -= 1
  return `${name.slice(0, length)}…`
}

function paintNames(context: CanvasRenderingContext2D, grid: Grid, { ink }: CellStyle): void {
  const next = grid.blocks[1]
  const room = next && next.left > 0 ? next.left - 8 : Number.POSITIVE_INFINITY
  context.font = FONT
  context.textBaseline = 'alphabetic'
  for (const block of grid.blocks) {
    context.fillStyle = ink(block.host.quiet ? 'muted' : 'text')
    context.fillText(fitted(context, block.host.host, room), block.left, block.top - 5)
  }
}

/** `at` is outlined with its host; `exact` tells whether its very cell is meant. */
export function paintGrid(context: CanvasRenderingContext2D, grid: Grid, style: CellStyle, at: CellPlace | null, exact: boolean): void {
  const { size } = grid
  if (size.name) paintNames(context, grid, style)
  for (const block of grid.blocks) {
    context.globalAlpha = block.host.quiet ? QUIET_ALPHA : 1
    block.host.cells.forEach((value, i) => paintCell(context, value, block.left + i * size.width, block.top, size, style))
  }
  context.globalAlpha = 1
  const block = at && grid.blocks[at.block]
  if (!at || !block) return
  context.strokeStyle = style.ink('text')
  context.strokeRect(block.left - 1.5, block.top - 1.5, block.width + 2, size.height + 3)
  if (!exact) return
  context.lineWidth = 2
  context.strokeStyle = style.ink('focus')
  context.strokeRect(block.left + at.cell * size.width - 1, block.top - 1, size.width + 1, size.height + 2)
  context.lineWidth = 1
}
