/** A minute of a GPU as a row of cells: cividis; hatch and bar below 10 %, dots without data. */

import type { Ink } from '@/canvas/ink'
import { dots, hatch } from '@/canvas/patterns'

export const IDLE_BELOW = 0.1

export interface CellStyle {
  ink: Ink
  /** Colours of 0..1 in 256 steps. */
  colours: readonly string[]
}

/** Draws `values` into a place; idle or unknown neighbours are one rectangle. */
export function drawCells(context: CanvasRenderingContext2D, values: readonly (number | null)[], place: DOMRectReadOnly, style: CellStyle): void {
  const step = place.width / values.length
  const edge = (i: number): number => place.x + Math.round(i * step)
  // A host younger than a minute has missed nothing before it began.
  const begins = Math.max(0, values.findIndex((value) => value !== null))
  for (let i = begins; i < values.length;) {
    const value = values[i] ?? null
    let end = i + 1
    if (value === null) while (end < values.length && values[end] === null) end += 1
    else if (value < IDLE_BELOW) while (end < values.length && isIdle(values[end])) end += 1
    const box = new DOMRect(edge(i), place.y, edge(end) - edge(i), place.height)
    if (value === null) fillWith(context, dots(context, style.ink('missing')), box)
    else if (value < IDLE_BELOW) drawIdle(context, box, style.ink)
    else {
      context.fillStyle = style.colours[Math.min(255, Math.round(value * 255))] as string
      context.fillRect(box.x, box.y, Math.max(1, box.width - 1), box.height)
    }
    i = end
  }
}

function isIdle(value: number | null | undefined): boolean {
  return value !== null && value !== undefined && value < IDLE_BELOW
}

function fillWith(context: CanvasRenderingContext2D, fill: CanvasPattern | null, box: DOMRect): void {
  if (!fill) return
  context.fillStyle = fill
  context.fillRect(box.x, box.y, box.width, box.height)
}

function drawIdle(context: CanvasRenderingContext2D, box: DOMRect, ink: Ink): void {
  context.fillStyle = ink('idle-fill')
  context.fillRect(box.x, box.y, box.width, box.height)
  context.globalAlpha = 0.5
  fillWith(context, hatch(context, ink('idle')), box)
  context.globalAlpha = 1
  context.fillStyle = ink('idle')
  context.fillRect(box.x, box.y, box.width, box.height > 10 ? 2 : 1)
}
