/** Fills that speak without hue: diagonal hatch for idle, dots for no data. */

/** Tiles by what they show; a frame may ask for the same one many times. */
const tiles = new Map<string, HTMLCanvasElement>()

function tile(name: string, size: number, draw: (context: CanvasRenderingContext2D) => void): HTMLCanvasElement {
  const known = tiles.get(name)
  if (known) return known
  const canvas = document.createElement('canvas')
  canvas.width = size
  canvas.height = size
  const context = canvas.getContext('2d')
  if (context) draw(context)
  tiles.set(name, canvas)
  return canvas
}

/** Diagonal lines; `scale` is the screen's pixel ratio where the target draws in device pixels, else 1. */
export function hatch(target: CanvasRenderingContext2D, colour: string, scale = 1): CanvasPattern | null {
  const size = Math.round(7 * scale)
  const image = tile(`hatch ${colour} ${size}`, size, (context) => {
    context.strokeStyle = colour
    context.lineWidth = 1.2 * scale
    context.beginPath()
    for (const shift of [-size, 0, size]) {
      context.moveTo(shift - 1, size + 1)
      context.lineTo(shift + size + 1, -1)
    }
    context.stroke()
  })
  return target.createPattern(image, 'repeat')
}

export function dots(target: CanvasRenderingContext2D, colour: string, scale = 1): CanvasPattern | null {
  const size = Math.round(8 * scale)
  const image = tile(`dots ${colour} ${size}`, size, (context) => {
    context.fillStyle = colour
    context.beginPath()
    context.arc(size / 2, size / 2, 0.9 * scale, 0, Math.PI * 2)
    context.fill()
  })
  return target.createPattern(image, 'repeat')
}
