/** The language of the page: which one it is, and its words. Components and plain functions read the same. */

import { computed, shallowRef } from 'vue'
import type { Words } from '@/language/en'

export type Language = 'en' | 'zh-Hans'

/** Each table is a file of its own: a reader fetches the one that is read. */
const SOURCES: Record<Language, () => Promise<Words>> = {
  en: async () => (await import('@/language/en')).EN,
  'zh-Hans': async () => (await import('@/language/zh')).ZH,
}
const tables: Partial<Record<Language, Words>> = {}
let asked: Language | null = null

/** Languages as their own readers call them. */
export const LANGUAGE_NAMES: Record<Language, string> = { en: 'English', 'zh-Hans': '简体中文' }

/** What stands where no table could be fetched. */
export const UNREACHED = 'Gapscope could not be loaded. Reload the page. 页面未能加载，请刷新。'

export const language = shallowRef<Language>('en')

/** The table of the language; there from the first `speak` on. */
export const words = computed<Words>(() => {
  const table = tables[language.value]
  if (!table) throw new Error(`no words of ${language.value} yet`)
  return table
})

/** Fetch a language's table if it is not here yet. Rejects where the server cannot be reached. */
export async function fetchWords(tag: Language): Promise<void> {
  tables[tag] ??= await SOURCES[tag]()
}

/** Change the language of the page once its words are here; the language asked for last is the one that stays. */
export async function speak(tag: Language): Promise<void> {
  asked = tag
  await fetchWords(tag)
  if (asked === tag) language.value = tag
}

/** The first of a browser's languages that the page has; Chinese in the traditional script is none of them. */
export function preferredLanguage(tags: readonly string[]): Language {
  for (const tag of tags) {
    const parts = tag.toLowerCase().split('-')
    if (parts[0] === 'en') return 'en'
    if (parts[0] === 'zh' && (parts.includes('hans') || !/^(hant|tw|hk|mo)$/.test(parts[1] ?? ''))) return 'zh-Hans'
  }
  return 'en'
}

export function isLanguage(text: unknown): text is Language {
  return typeof text === 'string' && text in SOURCES
}
