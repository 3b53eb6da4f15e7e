// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { nextTick } from 'vue'
import { language } from '@/language/words'
import { forgetShared } from '@/preferences/shared'
import { usePreferences } from '@/preferences/store'

function preferring(...languages: string[]): void {
  vi.spyOn(window.navigator, 'languages', 'get').mockReturnValue(languages)
}

beforeEach(() => {
  localStorage.clear()
  forgetShared()
})

afterEach(() => {
  vi.restoreAllMocks()
  language.value = 'en'
})

it("speaks the browser's language until another is chosen, and remembers it", async () => {
  preferring('zh-CN', 'en')
  const preferences = usePreferences()
  await preferences.ready()
  await nextTick()
  expect([language.value, document.documentElement.lang]).toEqual(['zh-Hans', 'zh-Hans'])
  preferences.chooseLanguage('en')
  await vi.waitFor(() => expect([language.value, document.documentElement.lang]).toEqual(['en', 'en']))
  expect(localStorage.getItem('gapscope.language')).toBe('en')
  forgetShared()
  await usePreferences().ready()
  expect(language.value).toBe('en')
})

it('forgets a stored language that it does not speak', async () => {
  localStorage.setItem('gapscope.language', 'tlh')
  preferring('fr')
  language.value = 'zh-Hans'
  await usePreferences().ready()
  expect(language.value).toBe('en')
})
