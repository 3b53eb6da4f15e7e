import { expect, it } from 'vitest'
import type { Hotspot } from '@/api/schema'
import { byLine } from '@/verdict/hotspots'

function spot(name: string, share: number, pid: number, thread = 'MainThread'): Hotspot {
  return { function: name, file: '/lib/PIL/Image.py', line: 7, source: null, share, samples: 10, thread, pid }
}

it('shows a line once, with what all processes spent in it, the dearest first', () => {
  const lines = byLine([spot('copy', 0.3, 1), spot('load', 0.25, 1), spot('load', 0.24, 2)])
  expect(lines.map((line) => [line.function, line.share.toFixed(2), line.samples, line.where])).toEqual([
    ['load', '0.49', 20, '2 processes'], ['copy', '0.30', 10, 'MainThread'],
  ])
})

it('counts threads of one process', () => {
  expect(byLine([spot('load', 0.2, 1, 'a'), spot('load', 0.1, 1, 'b')])[0]?.where).toBe('2 threads')
})
