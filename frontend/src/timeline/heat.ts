/** Cores over time as a bitmap: one row a core, one column a step. */

import type { Rgb } from '@/colour/cividis'
import type { Track } from '@/series/track'
import { indexAt } from '@/series/track'
import type { Span } from '@/time/span'
import { widthOf } from '@/time/span'

const MAX_COLUMNS = 2000
/** Columns a bucket from which its edges need no more. */
const EDGE_COLUMNS = 4

export interface HeatGrid {
  columns: number
  rows: number
  /** 0..1, NaN without a value; row by row. */
  values: Float32Array
}

/** Tracks on an even grid over the span; each cell takes the value that stands at its middle. */
export function heatGrid(tracks: readonly Track[], span: Span, maxColumns = MAX_COLUMNS): HeatGrid {
  const step = tracks.find((track) => track.time.length)?.stepMs ?? 100
  const steps = Math.ceil(widthOf(span) / step)
  // Few wide buckets begin and end between even columns: enough columns show their edges where the lines have them.
  const columns = Math.max(1, steps * EDGE_COLUMNS < maxColumns ? maxColumns : Math.min(maxColumns, steps))
  const values = new Float32Array(columns * tracks.length).fill(Number.NaN)
  tracks.forEach((track, row) => {
    let index = Math.max(0, indexAt(track.time, span.from))
    for (let column = 0; column < columns; column += 1) {
      const at = span.from + ((column + 0.5) / columns) * widthOf(span)
      while (index + 1 < track.time.length && (track.time[index + 1] as number) <= at) index += 1
      const time = track.time[index]
      const value = track.mean[index]
      if (time === undefined || value === null || value === undefined) continue
      if (time <= at && at - time <= track.stepMs * 2) values[row * columns + column] = value
    }
  })
  return { columns, rows: tracks.length, values }
}

/** Pixels of a grid; cells without a value stay transparent. */
export function heatPixels(grid: HeatGrid, table: readonly Rgb[]): ImageData {
  const image = new ImageData(grid.columns, Math.max(1, grid.rows))
  for (let i = 0; i < grid.values.length; i += 1) {
    const value = grid.values[i] as number
    if (Number.isNaN(value)) continue
    const colour = table[Math.min(255, Math.max(0, Math.round(value * 255)))] as Rgb
    image.data[i * 4] = colour[0]
    image.data[i * 4 + 1] = colour[1]
    image.data[i * 4 + 2] = colour[2]
    image.data[i * 4 + 3] = 255
  }
  return image
}
