/** A canvas as sharp as the screen, drawn in CSS pixels. Sizes are set by script: the page's policy bars style attributes. */

export function prepared(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D | null {
  const scale = window.devicePixelRatio || 1
  const wide = Math.round(width * scale)
  const high = Math.round(height * scale)
  if (canvas.width !== wide || canvas.height !== high) {
    canvas.width = wide
    canvas.height = high
    canvas.style.width = `${width}px`
    canvas.style.height = `${height}px`
  }
  const context = canvas.getContext('2d')
  context?.setTransform(scale, 0, 0, scale, 0, 0)
  context?.clearRect(0, 0, width, height)
  return context
}
