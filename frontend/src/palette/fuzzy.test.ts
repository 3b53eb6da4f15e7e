import { expect, it } from 'vitest'
import { fuzzyMatch, parts, ranked } from '@/palette/fuzzy'

const names = ['gpu-01 waits for storage', 'gpu-10', 'dark theme', 'alerts', 'settings', 'incidents']
const best = (query: string): string | undefined => ranked(names, query, (name) => name, 10)[0]?.item

it.each([['al', 'alerts'], ['g10', 'gpu-10'], ['set', 'settings'], ['dt', 'dark theme'], ['storage gpu', 'gpu-01 waits for storage'], ['inc', 'incidents']])('%s finds %s first', (query, name) => {
  expect(best(query)).toBe(name)
})

it('leaves out what lacks a letter', () => {
  expect(fuzzyMatch('xyz', 'alerts')).toBeNull()
  expect(fuzzyMatch('strela', 'alerts')).toBeNull()
  expect(ranked(names, 'zz', (name) => name, 10)).toEqual([])
})

it('prefers letters together and at the start of words', () => {
  const score = (text: string): number => fuzzyMatch('gpu', text)?.score ?? 0
  expect(score('gpu-1')).toBeGreaterThan(score('my gpu-1'))
  expect(score('my gpu-1')).toBeGreaterThan(score('long path up'))
  expect(score('xgpu')).toBeLessThan(score('x gpu'))
})

it('finds the best place of a word, not only the first', () => {
  expect(fuzzyMatch('io', 'image service io')?.places).toEqual([14, 15])
})

it('finds no word in letters far apart, and words of what stands beside as they are', () => {
  const sentence = 'GPU 1 waited for data of a process that feeds it, most often in slow_augment'
  expect(fuzzyMatch('ddp', sentence)).toBeNull()
  expect(fuzzyMatch('ddp', sentence, 'ddp-straggler')).toMatchObject({ places: [] })
  expect(fuzzyMatch('dstr', sentence, 'ddp-straggler')).toBeNull()
  expect(ranked(['straggler', 'other'], 'str', (name) => name, 5, () => 'a straggler').map((one) => one.item)).toEqual(['straggler', 'other'])
})

it('gives all in their order without a query, up to the limit', () => {
  expect(ranked(names, ' ', (name) => name, 2).map((one) => one.item)).toEqual(names.slice(0, 2))
})

it('marks what was matched', () => {
  expect(parts('alerts', [0, 1, 3])).toEqual([{ text: 'al', hit: true }, { text: 'e', hit: false }, { text: 'r', hit: true }, { text: 'ts', hit: false }])
})

it('reads Chinese', () => {
  expect(ranked(['事件', '设置'], '设', (name) => name, 5).map((one) => one.item)).toEqual(['设置'])
})
