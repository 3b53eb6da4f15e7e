import { expect, it } from 'vitest'
import { farBelow } from '@/jobs/unlike'

it.each([
  [[0.94, 0.95, 0.25, 0.93], [false, false, true, false]],
  [[0.99, 0.11], [false, true]],
  [[0.9, 0.85], [false, false]],
  [[null, 0.9, 0.1], [false, false, true]],
  [[0.1], [false]],
  [[null, null], [false, false]],
  [[0, 0], [false, false]],
  [[], []],
])('%j', (values, unlike) => {
  expect(farBelow(values)).toEqual(unlike)
})
