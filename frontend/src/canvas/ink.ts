/** The theme's colour tokens for canvases, read once a theme. */

import type { ComputedRef } from 'vue'
import { computed } from 'vue'
import { usePreferences } from '@/preferences/store'

export type Ink = (token: string) => string

/** A function from token name (`series-1`) to colour; a new one when the theme changes. */
export function useInk(): ComputedRef<Ink> {
  const preferences = usePreferences()
  return computed(() => {
    document.documentElement.dataset.theme = preferences.theme
    const style = getComputedStyle(document.documentElement)
    const known = new Map<string, string>()
    return (token) => {
      let colour = known.get(token)
      if (colour === undefined) {
        colour = style.getPropertyValue(`--${token}`).trim()
        known.set(token, colour)
      }
      return colour
    }
  })
}
