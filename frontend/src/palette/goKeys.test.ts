import { expect, it } from 'vitest'
import { goKeys } from '@/palette/goKeys'

it('leads somewhere after g and a letter', () => {
  const feed = goKeys()
  expect(feed('g', 0)).toBeNull()
  expect(feed('i', 300)).toBe('incidents')
})

it('keeps nothing from others without a g, after another letter, or too late', () => {
  const feed = goKeys()
  expect(feed('f', 0)).toBeUndefined()
  feed('g', 10)
  expect(feed('x', 20)).toBeUndefined()
  expect(feed('f', 30)).toBeUndefined()
  feed('g', 40)
  expect(feed('f', 5000)).toBeUndefined()
})

it('waits again after a second g', () => {
  const feed = goKeys()
  feed('g', 0)
  expect(feed('g', 10)).toBeNull()
  expect(feed('h', 20)).toBe('host')
})
