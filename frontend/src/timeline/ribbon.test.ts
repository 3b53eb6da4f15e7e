import { expect, it } from 'vitest'
import type { RibbonAnswer } from '@/api/schema'
import { rankedFunctions, ribbonRuns, shortPath } from '@/timeline/ribbon'

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

it('shortens a path to what one knows a file by', () => {
  expect(shortPath('/usr/lib/python3/PIL/Image.py')).toBe('PIL/Image.py')
})
