import { expect, it } from 'vitest'
import type { RibbonAnswer } from '@/api/schema'
import { rankedFunctions, readableRuns, ribbonRuns, shortPath } from '@/timeline/ribbon'

const ribbon: RibbonAnswer = {
  host: 'h', bucket_ms: 100, reason: '',
  functions: [{ function: 'get', file: 'queue.py', line: 1 }, { function: 'resize', file: '/lib/PIL/Image.py', line: 2 }],
  buckets: [
    { time_ms: 0, function: 1, share: 1, samples: 2, on_cpu_share: 1 },
    { time_ms: 100, function: 1, share: 0.5, samples: 2, on_cpu_share: 0.8 },
    { time_ms: 200, function: 0, share: 1, samples: 1, on_cpu_share: 0 },
    { time_ms: 900, function: 1, share: 1, samples: 1, on_cpu_share: null },
  ],
}

it('names the commonest function first', () => {
  expect(rankedFunctions(ribbon).map((item) => [item.function, item.share])).toEqual([['resize', 0.75], ['get', 0.25]])
})

it('joins neighbours, weighs their shares, and tells waiting from running', () => {
  const runs = ribbonRuns(ribbon)
  expect(runs.map((run) => [run.from, run.to, run.function, run.waiting])).toEqual([
    [0, 200, 1, false], [200, 300, 0, true], [900, 1000, 1, false],
  ])
  expect(runs[0]).toMatchObject({ samples: 4, share: 0.75, onCpu: 0.9 })
})

it('lets a run reach to the next sample near it', () => {
  const apart = { ...ribbon, bucket_ms: 50, buckets: [ribbon.buckets[0], { ...ribbon.buckets[1], time_ms: 250 }] } as RibbonAnswer
  expect(ribbonRuns(apart).map((run) => [run.from, run.to])).toEqual([[0, 300]])
})

it('joins runs too short to be read, named by most of their samples, and leaves long ones alone', () => {
  const run = (from: number, to: number, name: number, samples: number) => ({
    from, to, function: name, samples, share: 1, onCpu: 1, waiting: false,
  })
  const runs = [run(0, 1000, 0, 10), run(1000, 1100, 1, 1), run(1100, 1200, 2, 3), run(1200, 1300, 1, 1), run(1300, 2300, 1, 10), run(2300, 2350, 0, 1)]
  const seen = readableRuns(runs, 300).map((item) => [item.from, item.to, item.function, item.samples, item.share])
  expect(seen).toEqual([[0, 1000, 0, 10, 1], [1000, 1300, 2, 5, 0.6], [1300, 2300, 1, 10, 1], [2300, 2350, 0, 1, 1]])
})

it('shortens a path to what one knows a file by', () => {
  expect(shortPath('/usr/lib/python3/PIL/Image.py')).toBe('PIL/Image.py')
})
