/** A choice that lives in the address: absent there while it is the usual one. */

import type { WritableComputedRef } from 'vue'
import { computed } from 'vue'
import { useRoute, useRouter } from 'vue-router'

/** `read` makes the choice of the address's text, and the usual one of no or a strange text; `write` its text, empty for the usual one. */
export function useQueryValue<T>(name: string, read: (text: string) => T, write: (value: T) => string): WritableComputedRef<T> {
  const route = useRoute()
  const router = useRouter()
  return computed({
    get: () => {
      const text = route.query[name]
      return read(typeof text === 'string' ? text : '')
    },
    set: (value) => void router.replace({ query: { ...route.query, [name]: write(value) || undefined } }),
  })
}
