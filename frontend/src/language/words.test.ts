import { afterEach, describe, expect, it } from 'vitest'
import { duration, gpuSeconds, percent, quantity } from '@/format/quantity'
import { EN } from '@/language/en'
import { language, preferredLanguage, words } from '@/language/words'
import { ZH } from '@/language/zh'

afterEach(() => {
  language.value = 'en'
})

it.each([
  [['zh-CN', 'en'], 'zh-Hans'], [['zh'], 'zh-Hans'], [['zh-Hans-HK'], 'zh-Hans'], [['en-GB', 'zh-CN'], 'en'],
  [['zh-TW', 'en'], 'en'], [['zh-Hant-CN'], 'en'], [['de', 'zh-SG'], 'zh-Hans'], [['fr'], 'en'], [[], 'en'],
])('%j is read in %s', (tags, chosen) => {
  expect(preferredLanguage(tags)).toBe(chosen)
})

describe('the tables', () => {
  /** Every word with its path; functions are called with something to put in. */
  function* told(table: object, path = ''): Generator<[string, string]> {
    for (const [key, value] of Object.entries(table)) {
      if (typeof value === 'object') yield* told(value as object, `${path}${key}.`)
      else yield [path + key, typeof value === 'function' ? JSON.stringify((value as (...a: unknown[]) => unknown)('7', '8', '9')) : String(value)]
    }
  }
  const english = new Map(told(EN))

  it('say everything in Chinese that has words in English', () => {
    const same = [...told(ZH)].filter(([path, text]) => /[a-z]{4}/.test(english.get(path) ?? '') && !/[一-鿿]/.test(text))
    expect(same).toEqual([])
  })

  it('put in what they are given', () => {
    for (const [path, text] of told(ZH)) {
      const digits = (english.get(path) ?? '').match(/[789]/g) ?? []
      for (const digit of digits) expect(text, path).toContain(digit)
    }
  })

  it('use full-width punctuation between Chinese characters', () => {
    expect([...told(ZH)].filter(([, text]) => /[一-鿿][,;:!]|[,;!][一-鿿]/.test(text))).toEqual([])
  })
})

it('writes figures in the language of the page', () => {
  language.value = 'zh-Hans'
  expect(words.value.fleet.count(2, 16)).toBe('2 台主机，16 块 GPU')
  expect([percent(0.034), percent(0.0004), duration(0.34), duration(200), duration(7500), duration(86_400 * 3)]).toEqual(
    ['3.4%', '< 0.1%', '340 毫秒', '3 分 20 秒', '2 小时 5 分', '3 天'],
  )
  expect([gpuSeconds(12.34), gpuSeconds(36_000), quantity(0.5, 'cores'), quantity(2, 'processes')]).toEqual(
    ['12.3 GPU 秒', '10.0 GPU 小时', '0.50 核', '2.00 个进程'],
  )
})
