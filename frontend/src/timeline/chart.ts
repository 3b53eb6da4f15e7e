/** A lane's lines in uPlot: data columns from tracks, and the ground (grid, gaps, missing data) painted beneath. */

import uPlot from 'uplot'
import type { Ink } from '@/canvas/ink'
import { dots, hatch } from '@/canvas/patterns'
import { idleRuns } from '@/series/idle'
import type { Track, Values } from '@/series/track'
import { commonHoles } from '@/series/track'
import type { Curve } from '@/timeline/lanes'
import type { Span } from '@/time/span'
import { clipped } from '@/time/span'

/** Columns of one curve: mean, then the band's max and min. */
const COLUMNS = 3
const AREA_ALPHA = '38'
const BAND_ALPHA = '30'

/** Gaps narrower than this get a mark of their own. */
const NARROW_PIXELS = 3
const WEDGE_PIXELS = 4
/** Wedges stand no nearer to each other: many gaps in a row are no saw. */
const WEDGE_ROOM_PIXELS = 24

export interface Ground {
  ink: Ink
  span: Span
  ticks: readonly number[]
  /** Track whose idleness is hatched. */
  idle: Track | null
  /** From the first stored data to the newest: what lies outside is dimmed. */
  known: Span
  /** Where none of these has a value there are dots; null where no value is an answer too. */
  presence: readonly Track[] | null
}

function sameTimes(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a[0] === b[0] && a.at(-1) === b.at(-1)
}

/** Samples have no band: nothing is drawn for its edges. */
function bandOf(track: Track): (number | null)[][] {
  if (track.banded) return [track.max, track.min]
  const none = new Array<null>(track.time.length).fill(null)
  return [none, none]
}

/** The last bucket stands to its end: a line needs a second point to be seen at all in a view narrower than a bucket. */
function closed(track: Track): Track {
  const last = track.time.at(-1)
  if (!track.banded || last === undefined || track.coveredTo <= last) return track
  const again = (values: Values): Values => [...values, values.at(-1) ?? null]
  return { ...track, time: [...track.time, track.coveredTo], mean: again(track.mean), min: again(track.min), max: again(track.max) }
}

function columnsOf(track: Track): uPlot.AlignedData {
  return [track.time, track.mean, ...bandOf(track)] as uPlot.AlignedData
}

/** Tracks of one lane side by side. Tracks with times of their own are joined; their lines stay unbroken. */
export function alignedData(all: readonly Track[]): uPlot.AlignedData {
  const tracks = all.map(closed)
  const first = tracks[0]
  if (!first) return [[]]
  if (tracks.every((track) => sameTimes(track.time, first.time))) {
    return [first.time, ...tracks.flatMap((track) => [track.mean, ...bandOf(track)])] as uPlot.AlignedData
  }
  return uPlot.join(tracks.map(columnsOf))
}

const linear = uPlot.paths.linear?.()
const stepped = uPlot.paths.stepped?.({ align: 1 })

/** From so many pixels on a bucket is a step: a slope from one to the next would tell of what nobody measured. */
const STEP_PIXELS = 6

/** Lines through samples and narrow buckets, steps along wide ones; chosen anew with each drawing. */
function pathsOf(stepMs: () => number | null): uPlot.Series.PathBuilder {
  return (chart, index, from, to) => {
    const step = stepMs()
    const { min, max } = chart.scales.x ?? {}
    const pixels = step !== null && min != null && max != null ? (step / (max - min)) * chart.width : 0
    const build = pixels >= STEP_PIXELS ? stepped : linear
    return build?.(chart, index, from, to) ?? null
  }
}

function seriesOf(curve: Curve, ink: Ink, paths: uPlot.Series.PathBuilder): uPlot.Series[] {
  const colour = ink(curve.colour)
  const mean: uPlot.Series = { stroke: colour, width: curve.style === 'thin' ? 1 : 1.25, points: { show: false }, paths }
  if (curve.style === 'thin') mean.dash = [4, 3]
  if (curve.style === 'area') {
    mean.fill = colour + AREA_ALPHA
    mean.fillTo = 0
  }
  const edge: uPlot.Series = { stroke: 'transparent', width: 0, points: { show: false }, paths }
  return [mean, edge, edge]
}

export function chartOptions(
  curves: readonly Curve[],
  size: { width: number; height: number },
  ink: Ink,
  paintGround: (chart: uPlot) => void,
  /** Length of a bucket in ms; null where the samples themselves are drawn. */
  stepMs: () => number | null,
): uPlot.Options {
  const paths = pathsOf(stepMs)
  return {
    ...size,
    ms: 1,
    padding: [3, 0, 1, 0],
    legend: { show: false },
    cursor: { show: false },
    axes: [{ show: false }, { show: false }],
    scales: { x: { time: false, auto: false }, y: { auto: false } },
    series: [{}, ...curves.flatMap((curve) => seriesOf(curve, ink, paths))],
    bands: curves.map((curve, i) => ({
      series: [i * COLUMNS + 2, i * COLUMNS + 3] as [number, number],
      fill: ink(curve.colour) + BAND_ALPHA,
    })),
    hooks: { drawClear: [paintGround] },
  }
}

function paintSpan(chart: uPlot, part: Span, fill: (left: number, width: number) => void): void {
  const { left, width } = chart.bbox
  const from = Math.max(left, chart.valToPos(part.from, 'x', true))
  const to = Math.min(left + width, chart.valToPos(part.to, 'x', true))
  // A gap of 100 ms stays visible in a day.
  if (to >= left && from <= left + width) fill(from, Math.max(1, to - from))
}

function paintGrid(chart: uPlot, ground: Ground): void {
  const { ctx, bbox } = chart
  ctx.strokeStyle = ground.ink('grid')
  ctx.lineWidth = 1
  ctx.beginPath()
  for (const tick of ground.ticks) {
    const x = Math.round(chart.valToPos(tick, 'x', true)) + 0.5
    ctx.moveTo(x, 0)
    ctx.lineTo(x, bbox.top + bbox.height)
  }
  const middle = Math.round(bbox.top + bbox.height / 2) + 0.5
  ctx.moveTo(bbox.left, middle)
  ctx.lineTo(bbox.left + bbox.width, middle)
  ctx.stroke()
}

/** A gap too narrow for hatching: a line through the lane, and a wedge on top of it to be found in a day. */
function paintNarrow(chart: uPlot, at: number, hasWedge: boolean): void {
  const { ctx } = chart
  const scale = uPlot.pxRatio
  const half = WEDGE_PIXELS * scale
  ctx.globalAlpha = 1
  ctx.fillRect(at - scale / 2, 0, scale, ctx.canvas.height)
  if (!hasWedge) return
  ctx.beginPath()
  ctx.moveTo(at - half, 0)
  ctx.lineTo(at + half, 0)
  ctx.lineTo(at, 2 * half)
  ctx.fill()
}

/** Hatch and a bar along the top; stronger with the idle share. */
function paintIdle(chart: uPlot, ground: Ground, idle: Track): void {
  const { ctx, bbox } = chart
  const scale = uPlot.pxRatio
  const height = ctx.canvas.height
  const lines = hatch(ctx, ground.ink('idle'), scale)
  let wedge = Number.NEGATIVE_INFINITY
  for (const run of idleRuns(idle, ground.span)) {
    paintSpan(chart, run, (left, width) => {
      ctx.globalAlpha = 1
      ctx.fillStyle = ground.ink('idle-fill')
      ctx.fillRect(left, 0, width, height)
      ctx.globalAlpha = 0.12 + 0.3 * run.share
      if (lines) ctx.fillStyle = lines
      ctx.fillRect(left, 0, width, height)
      ctx.globalAlpha = 0.4 + 0.6 * run.share
      ctx.fillStyle = ground.ink('idle')
      ctx.fillRect(left, 0, width, 2 * scale)
      ctx.fillRect(left, bbox.top + bbox.height - scale, width, scale)
      if (width >= NARROW_PIXELS * scale) return
      const at = left + width / 2
      const hasWedge = at - wedge >= WEDGE_ROOM_PIXELS * scale
      if (hasWedge) wedge = at
      paintNarrow(chart, at, hasWedge)
    })
  }
  ctx.globalAlpha = 1
}

function paintHoles(chart: uPlot, ground: Ground, presence: readonly Track[]): void {
  const { ctx } = chart
  // Nothing at all is told in words instead.
  if (presence.every((track) => track.time.length === 0)) return
  const fill = dots(ctx, ground.ink('missing'), uPlot.pxRatio)
  if (fill) ctx.fillStyle = fill
  for (const hole of commonHoles(presence, clipped(ground.span, ground.known))) {
    paintSpan(chart, hole, (left, width) => ctx.fillRect(left, 0, width, ctx.canvas.height))
  }
}

/** Before the first data and after the last there is nothing to miss. */
function paintOutside(chart: uPlot, ground: Ground): void {
  const { ctx } = chart
  ctx.fillStyle = ground.ink('ground')
  const sides = [{ from: ground.span.from, to: ground.known.from }, { from: ground.known.to, to: ground.span.to }]
  for (const side of sides) {
    if (side.to > side.from) paintSpan(chart, side, (left, width) => ctx.fillRect(left, 0, width, ctx.canvas.height))
  }
}

export function paintGround(chart: uPlot, ground: Ground): void {
  chart.ctx.save()
  paintOutside(chart, ground)
  paintGrid(chart, ground)
  if (ground.idle) paintIdle(chart, ground, ground.idle)
  if (ground.presence) paintHoles(chart, ground, ground.presence)
  chart.ctx.restore()
}
