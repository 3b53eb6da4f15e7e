import { expect, it } from 'vitest'
import { groupsOf, marksOf } from '@/annotations/marks'

const note = (id: string, at: number, to = at) => ({ id, at_ms: at, to_ms: to, kind: 'note', text: `note ${id}`, made: '', made_by: 'owner' })
const event = { time: '1970-01-01T00:00:02Z', kind: 'process_start', text: 'app.py', entity: 'process:1' }

it('puts notes and events in the order of time', () => {
  const marks = marksOf([note('b', 3000), note('a', 1000)], [event])
  expect(marks.map((mark) => [mark.kind, mark.from, mark.id])).toEqual([['note', 1000, 'a'], ['process_start', 2000, null], ['note', 3000, 'b']])
})

it('joins what is too near to tell apart, and leaves out what is not in sight', () => {
  const marks = marksOf([note('before', 0), note('a', 1000), note('b', 1010), note('c', 1500), note('after', 9000)], [])
  const groups = groupsOf(marks, { from: 900, to: 1900 }, 1000, 16)
  expect(groups.map((group) => [group.left, group.marks.map((mark) => mark.id)])).toEqual([[100, ['a', 'b']], [600, ['c']]])
})

it('cuts a span at the edges of the view', () => {
  const [group] = groupsOf(marksOf([note('long', 0, 5000)], []), { from: 1000, to: 2000 }, 500, 16)
  expect([group?.left, group?.width]).toEqual([0, 500])
})
