/** What a person chose for this browser: theme and time zone. */

import { usePreferredDark, useStorage } from '@vueuse/core'
import { defineStore } from 'pinia'
import { computed, watchEffect } from 'vue'
import type { Theme } from '@/colour/cividis'
import type { Zone } from '@/time/clock'

export const usePreferences = defineStore('preferences', () => {
  const chosenTheme = useStorage<Theme | 'system'>('gapscope.theme', 'system')
  const zone = useStorage<Zone>('gapscope.zone', 'local')
  const prefersDark = usePreferredDark()
  const theme = computed<Theme>(() => {
    if (chosenTheme.value !== 'system') return chosenTheme.value
    return prefersDark.value ? 'dark' : 'light'
  })

  watchEffect(() => {
    document.documentElement.dataset.theme = theme.value
  })

  function toggleTheme(): void {
    chosenTheme.value = theme.value === 'dark' ? 'light' : 'dark'
  }

  function toggleZone(): void {
    zone.value = zone.value === 'utc' ? 'local' : 'utc'
  }

  return { theme, zone, toggleTheme, toggleZone }
})
