/** What a person chose for this browser: theme, time zone and language. */

import { usePreferredDark, usePreferredLanguages, useStorage } from '@vueuse/core'
import { computed, watch, watchEffect } from 'vue'
import type { Theme } from '@/colour/cividis'
import type { Language } from '@/language/words'
import { isLanguage, language, preferredLanguage, speak } from '@/language/words'
import { shared } from '@/preferences/shared'
import type { Zone } from '@/time/clock'

export const usePreferences = shared(() => {
  const chosenTheme = useStorage<Theme | 'system'>('gapscope.theme', 'system')
  const zone = useStorage<Zone>('gapscope.zone', 'local')
  const chosenLanguage = useStorage<Language | 'system'>('gapscope.language', 'system')
  const languages = usePreferredLanguages()
  const prefersDark = usePreferredDark()
  const theme = computed<Theme>(() => {
    if (chosenTheme.value !== 'system') return chosenTheme.value
    return prefersDark.value ? 'dark' : 'light'
  })

  watchEffect(() => {
    document.documentElement.dataset.theme = theme.value
  })
  const spoken = computed(() => (isLanguage(chosenLanguage.value) ? chosenLanguage.value : preferredLanguage(languages.value)))
  let first: Promise<void> | null = null
  watch(spoken, (tag) => {
    const told = speak(tag)
    // A language that does not come leaves the one that is read; only the first has none before it.
    if (first) told.catch(() => { chosenLanguage.value = language.value })
    first ??= told
  }, { immediate: true })
  watch(language, (tag) => { document.documentElement.lang = tag }, { immediate: true })

  /** Settles once the first language is here. Rejects where it cannot be fetched. */
  async function ready(): Promise<void> {
    await first
  }

  function toggleTheme(): void {
    chosenTheme.value = theme.value === 'dark' ? 'light' : 'dark'
  }

  function toggleZone(): void {
    zone.value = zone.value === 'utc' ? 'local' : 'utc'
  }

  function chooseTheme(chosen: Theme | 'system'): void {
    chosenTheme.value = chosen
  }

  function chooseZone(chosen: Zone): void {
    zone.value = chosen
  }

  function chooseLanguage(chosen: Language | 'system'): void {
    chosenLanguage.value = chosen
  }

  return { ready, theme, chosenTheme, zone, chosenLanguage, toggleTheme, toggleZone, chooseTheme, chooseZone, chooseLanguage }
})
