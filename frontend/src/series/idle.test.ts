import { expect, it } from 'vitest'
import { idleRuns } from '@/series/idle'
import { emptyTrack } from '@/series/track'

it('joins neighbours of like strength and parts different ones', () => {
  const track = emptyTrack()
  track.time = [0, 100, 200, 300, 400]
  track.mean = [0, 0, 0.5, 0, 0]
  track.idle = [1, 1, 0, 0.2, null]
  expect(idleRuns(track, { from: 0, to: 1000 })).toEqual([
    { from: 0, to: 200, share: 1 },
    { from: 300, to: 400, share: 0.25 },
  ])
})
