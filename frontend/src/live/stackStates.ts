/** What the agent last said of its taking of stacks: `stacks: STATE (reason)` of all of it, `stacks:PID: ...` of a process. */

import type { EventInfo } from '@/api/schema'

const TOLD = /^(stacks(?::\d+)?): (\w+)(?: \((.*)\))?$/s
const WELL = new Set(['ok', 'sampling', 'slowed', 'ended'])
/** States of these say nothing about the others: they are no Python. */
const ASIDE = new Set(['not_python'])

/** Why no stacks are taken, in the agent's words; empty where they are, or nothing is known. Events in any order. */
export function stackTrouble(events: readonly EventInfo[]): string {
  const newest = new Map<string, { time: number; state: string; reason: string }>()
  for (const event of events) {
    const told = event.kind === 'source_state' ? TOLD.exec(event.text) : null
    if (!told) continue
    const [, source = '', state = '', reason = ''] = told
    const time = Date.parse(event.time)
    const known = newest.get(source)
    if (!known || known.time <= time) newest.set(source, { time, state, reason })
  }
  const whole = newest.get('stacks')
  if (whole && !WELL.has(whole.state)) return whole.reason || whole.state
  newest.delete('stacks')
  const processes = [...newest.values()].filter(({ state }) => !ASIDE.has(state))
  if (!processes.length || processes.some(({ state }) => WELL.has(state))) return ''
  return [...new Set(processes.map(({ state, reason }) => reason || state))].join('; ')
}
