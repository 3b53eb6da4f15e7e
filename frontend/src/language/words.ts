/** The language of the page: which one it is, and its words. Components and plain functions read the same. */

import { computed, shallowRef } from 'vue'
import type { Words } from '@/language/en'
import { EN } from '@/language/en'
import { ZH } from '@/language/zh'

export type Language = 'en' | 'zh-Hans'

const TABLES: Record<Language, Words> = { en: EN, 'zh-Hans': ZH }

/** Languages as their own readers call them. */
export const LANGUAGE_NAMES: Record<Language, string> = { en: 'English', 'zh-Hans': '简体中文' }

export const language = shallowRef<Language>('en')
export const words = computed<Words>(() => TABLES[language.value])

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
  return typeof text === 'string' && text in TABLES
}
