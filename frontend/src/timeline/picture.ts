/** The lanes as they stand on the screen, with their titles and figures, as a PNG. */

import type { Ink } from '@/canvas/ink'
import { fitted } from '@/flame/paint'

const MARGIN = 12
const HEAD_HEIGHT = 44
const LABEL_LINE = 15
const FONT = '"Inter Variable", sans-serif'

interface Sheet {
  context: CanvasRenderingContext2D
  ink: Ink
  /** Where the lanes' own corner lies on the screen. */
  left: number
  top: number
}

function paintText(sheet: Sheet, text: string, x: number, y: number, style: { font: string; ink: string; room: number }): void {
  const { context } = sheet
  context.font = `${style.font} ${FONT}`
  context.fillStyle = sheet.ink(style.ink)
  context.fillText(fitted(text, style.room, (part) => context.measureText(part).width), x, y)
}

/** The title of a lane in bold, and below it what stands in its label, line by line. */
function paintLabel(sheet: Sheet, lane: Element): void {
  const label = lane.querySelector<HTMLElement>('.label')
  if (!label?.offsetWidth) return
  const box = label.getBoundingClientRect()
  const x = MARGIN + box.left - sheet.left + 12
  const parts = [...label.querySelectorAll<HTMLElement>('h3, li, p')].filter((part) => !part.querySelector('canvas'))
  const lines = parts.map((part) => part.innerText.replace(/\s+/g, ' ').trim()).filter(Boolean)
  const fit = Math.max(1, Math.floor((box.height - 4) / LABEL_LINE))
  lines.slice(0, fit).forEach((line, i) => {
    const y = HEAD_HEIGHT + box.top - sheet.top + 16 + i * LABEL_LINE
    paintText(sheet, line, x, y, { font: i ? '400 11px' : '650 12px', ink: i ? 'muted' : 'text', room: box.width - 20 })
  })
}

/** What a folded lane tells in its line. */
function paintSummary(sheet: Sheet, lane: Element): void {
  const summary = lane.querySelector<HTMLElement>('.summary')
  if (!summary) return
  const box = summary.getBoundingClientRect()
  paintText(sheet, summary.innerText, MARGIN + box.left - sheet.left + 8, HEAD_HEIGHT + box.top - sheet.top + 14, { font: '400 11px', ink: 'muted', room: box.width - 16 })
}

function paintCanvas(sheet: Sheet, canvas: HTMLCanvasElement): void {
  const box = canvas.getBoundingClientRect()
  if (box.width > 0) sheet.context.drawImage(canvas, MARGIN + box.left - sheet.left, HEAD_HEIGHT + box.top - sheet.top, box.width, box.height)
}

function paintFrames(sheet: Sheet, lanes: readonly Element[], width: number): void {
  sheet.context.fillStyle = sheet.ink('line')
  for (const lane of lanes) sheet.context.fillRect(MARGIN, HEAD_HEIGHT + lane.getBoundingClientRect().top - sheet.top, width, 1)
}

/** Paints what `stack` shows; `title` and `detail` stand above. Null where the browser gives no canvas. */
export function lanesPicture(stack: HTMLElement, ink: Ink, title: string, detail: string): Promise<Blob | null> {
  // What sticks to the screen stands over other lanes there: in the picture it stands in its place.
  stack.classList.add('still')
  try {
    return painted(stack, ink, title, detail)
  } finally {
    stack.classList.remove('still')
  }
}

function painted(stack: HTMLElement, ink: Ink, title: string, detail: string): Promise<Blob | null> {
  const box = stack.getBoundingClientRect()
  const scale = window.devicePixelRatio || 1
  const canvas = document.createElement('canvas')
  canvas.width = Math.round((box.width + 2 * MARGIN) * scale)
  canvas.height = Math.round((box.height + HEAD_HEIGHT + MARGIN) * scale)
  const context = canvas.getContext('2d')
  if (!context) return Promise.resolve(null)
  context.scale(scale, scale)
  context.fillStyle = ink('panel')
  context.fillRect(0, 0, canvas.width, canvas.height)
  const sheet: Sheet = { context, ink, left: box.left, top: box.top }
  paintText(sheet, title, MARGIN, 18, { font: '650 14px', ink: 'text', room: box.width })
  paintText(sheet, detail, MARGIN, 36, { font: '400 12px', ink: 'muted', room: box.width })
  const lanes = [...stack.querySelectorAll('.lane')].filter((lane) => lane.getBoundingClientRect().height > 0)
  paintFrames(sheet, lanes, box.width)
  for (const lane of lanes) {
    paintLabel(sheet, lane)
    paintSummary(sheet, lane)
  }
  // The small canvases of legends stand in labels: only what is drawn in plots and the axis belongs here.
  for (const plot of stack.querySelectorAll<HTMLCanvasElement>('.plot canvas, .axis canvas, canvas.axis')) paintCanvas(sheet, plot)
  return new Promise((resolve) => canvas.toBlob(resolve, 'image/png'))
}

export function download(blob: Blob, name: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(blob)
  link.download = name
  link.click()
  URL.revokeObjectURL(link.href)
}
