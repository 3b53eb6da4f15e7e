import { expect, it } from 'vitest'
import type { EventInfo } from '@/api/schema'
import { stackTrouble } from '@/live/stackStates'

const event = (second: number, text: string, kind = 'source_state'): EventInfo => ({ time: new Date(second * 1000).toISOString(), kind, text, entity: 'host' })

it('tells why nothing is taken at all', () => {
  expect(stackTrouble([event(1, 'stacks: off (mode is off in the [stacks] settings)')])).toBe('mode is off in the [stacks] settings')
  expect(stackTrouble([event(3, 'stacks: ok'), event(2, 'stacks: unavailable (py-spy is not installed)')])).toBe('')
  expect(stackTrouble([event(1, 'stacks: no_helper')])).toBe('no_helper')
})

it('tells it of the processes only where none is sampled', () => {
  const refused = event(1, 'stacks:7: no_permission (kernel.yama.ptrace_scope is 1)')
  expect(stackTrouble([refused, event(1, 'stacks:9: not_python')])).toBe('kernel.yama.ptrace_scope is 1')
  expect(stackTrouble([refused, event(1, 'stacks:8: sampling')])).toBe('')
  expect(stackTrouble([refused, event(2, 'stacks:7: sampling')])).toBe('')
})

it('minds nothing else', () => {
  expect(stackTrouble([event(1, 'gpu: failed (lost)'), event(1, 'stacks: off', 'deploy')])).toBe('')
})
