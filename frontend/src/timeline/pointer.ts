/** Mouse, pen and finger over the lanes: crosshair, brush to select (with alt to zoom), shift-drag to pan, wheel. */

import type { Ref } from 'vue'
import { shallowRef } from 'vue'
import type { Span } from '@/time/span'
import { shifted, widthOf } from '@/time/span'
import type { Viewport } from '@/timeline/viewport'

/** A press that moves less than this many pixels is a click. */
const BRUSH_PIXELS = 5
const WHEEL_ZOOM = 0.0016
const WHEEL_PAN = 0.0012

export interface PlotPlace {
  /** Left edge of the plots and their width, in client pixels. */
  left: number
  width: number
}

interface Press {
  x: number
  time: number
  span: Span
  pan: boolean
  zoom: boolean
}

export interface PlotPointer {
  /** The stretch under the brush while it is drawn. */
  brush: Ref<Span | null>
  down(event: PointerEvent): void
  move(event: PointerEvent): void
  up(event: PointerEvent): void
  leave(): void
  wheel(event: WheelEvent, overAxis: boolean): void
}

export function plotPointer(viewport: Viewport, place: () => PlotPlace, select: (span: Span) => void): PlotPointer {
  const brush = shallowRef<Span | null>(null)
  let press: Press | null = null

  function timeAt(x: number): number | null {
    const { left, width } = place()
    if (width <= 0 || x < left || x > left + width) return null
    const span = viewport.span.value
    return span.from + ((x - left) / width) * widthOf(span)
  }

  function down(event: PointerEvent): void {
    const time = timeAt(event.clientX)
    if (time === null || (event.button !== 0 && event.button !== 1)) return
    press = { x: event.clientX, time, span: viewport.span.value, pan: event.shiftKey || event.button === 1, zoom: event.altKey }
    ;(event.currentTarget as Element).setPointerCapture(event.pointerId)
  }

  function move(event: PointerEvent): void {
    const time = timeAt(event.clientX)
    viewport.cursor.value = time
    if (!press) return
    if (press.pan) {
      viewport.pause()
      const by = -((event.clientX - press.x) / place().width) * widthOf(press.span)
      viewport.drag(shifted(press.span, by))
      return
    }
    if (Math.abs(event.clientX - press.x) < BRUSH_PIXELS) return
    const { left, width } = place()
    const edge = timeAt(Math.min(left + width, Math.max(left, event.clientX))) ?? press.time
    brush.value = { from: Math.min(press.time, edge), to: Math.max(press.time, edge) }
  }

  function up(event: PointerEvent): void {
    ;(event.currentTarget as Element).releasePointerCapture(event.pointerId)
    if (press && !press.pan && brush.value) {
      if (press.zoom) viewport.jump(brush.value)
      else select(brush.value)
    }
    press = null
    brush.value = null
  }

  function leave(): void {
    if (!press) viewport.cursor.value = null
  }

  function wheel(event: WheelEvent, overAxis: boolean): void {
    const at = timeAt(event.clientX)
    if (at === null) return
    const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY)
    if (sideways || event.shiftKey) {
      event.preventDefault()
      viewport.pan((sideways ? event.deltaX : event.deltaY) * WHEEL_PAN)
    } else if (overAxis || event.ctrlKey || event.metaKey || event.altKey) {
      event.preventDefault()
      viewport.zoom(Math.exp(event.deltaY * WHEEL_ZOOM), at)
    }
  }

  return { brush, down, move, up, leave, wheel }
}
