// Notes what the page does from its first script on: for how long each frame draws, and when a value becomes pixels.
window.noted = { frames: [], read: null, first: null, samples: [] }
{
  const { noted } = window
  let frame = null
  let waiting = []

  // The callbacks of one frame are called with one time. A frame counts from the begin of the first to the end of the last.
  const ask = window.requestAnimationFrame.bind(window)
  window.requestAnimationFrame = (callback) => ask((time) => {
    if (frame?.time !== time) {
      frame = { time, begin: performance.now(), took: 0, lines: false }
      noted.frames.push(frame)
      // The task after the frame: what was drawn in it stands.
      const now = frame
      const channel = new MessageChannel()
      channel.port1.onmessage = () => ended(now)
      channel.port2.postMessage(null)
    }
    callback(time)
    frame.took = performance.now() - frame.begin
  })

  function ended(one) {
    if (!one.lines) return
    const at = performance.now()
    if (noted.read !== null) noted.first ??= at - noted.read
    const until = performance.timeOrigin + at
    noted.samples.push(...waiting.map((time) => until - time))
    waiting = []
  }

  const stroke = CanvasRenderingContext2D.prototype.stroke
  CanvasRenderingContext2D.prototype.stroke = function (...path) {
    // Only the curves of a lane are paths of their own.
    if (frame && path.length) frame.lines = true
    return stroke.apply(this, path)
  }

  const json = Response.prototype.json
  Response.prototype.json = async function () {
    const told = await json.call(this)
    if (this.url.includes('/series?') && noted.read === null) noted.read = performance.now()
    return told
  }

  const Plain = window.Worker
  window.Worker = class extends Plain {
    constructor(...words) {
      super(...words)
      this.addEventListener('message', ({ data }) => {
        if (data.type === 'frame') waiting.push(data.time)
      })
    }
  }
}
