import { expect, it } from 'vitest'
import type { ProcessInfo } from '@/api/schema'
import { shortCommand, shownProcesses } from '@/timeline/lanes'
import { roundUp } from '@/timeline/scale'

function process(pid: number, owner = false): ProcessInfo {
  return {
    entity: `process:${pid}`, pid, parent_pid: null, command: 'x', user: null, owner_of: owner ? ['gpu:a'] : [], first_seen: '', last_seen: '',
  }
}

it('shows the owners of a GPU first, then the busiest, and leaves idle others out', () => {
  const load: Record<string, number> = { 'process:2': 3, 'process:3': 1 }
  const shown = shownProcesses([process(1), process(3), process(2), process(4, true)], (entity) => load[entity] ?? 0)
  expect(shown.map((item) => item.pid)).toEqual([4, 2, 3])
})

it.each([
  ['/usr/bin/python3 -u /srv/serve.py --port 1', 'serve.py'],
  ["python3 -c import os; os.fork()", 'python3 -c'],
  ['python -m vllm.serve --port 1', 'vllm.serve'],
  ['/opt/trt/server --model x', 'server'],
  ['', ''],
])('%s is called %s', (command, name) => {
  expect(shortCommand(command)).toBe(name)
})

it('rounds the top of a scale up', () => {
  expect([0, 0.7, 1, 11.2e9, 47].map(roundUp)).toEqual([1, 0.8, 1, 12e9, 50])
})
