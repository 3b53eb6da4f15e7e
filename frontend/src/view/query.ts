/** A value of the address' query as a ref: what is not readable there is the fallback, and the fallback is left out. */

import type { WritableComputedRef } from 'vue'
import { computed } from 'vue'
import type { LocationQuery } from 'vue-router'
import { useRoute, useRouter } from 'vue-router'

/** Values on their way into the address, so that two of them do not undo each other. */
let pending: LocationQuery | null = null

export interface QueryValue<T> {
  parse: (text: unknown) => T
  text: (value: T) => string
  /** Whether a change from one to the other is a step that the browser's back undoes. */
  step?: (from: T, to: T) => boolean
}

export function useQueryValue<T>(key: string, { parse, text, step }: QueryValue<T>): WritableComputedRef<T> {
  const route = useRoute()
  const router = useRouter()
  return computed<T>({
    get: () => parse(route.query[key]),
    set: (value) => {
      const before = parse(route.query[key])
      const { [key]: _old, ...rest } = pending ?? route.query
      const written = text(value)
      const query = written === '' ? rest : { ...rest, [key]: written }
      pending = query
      const target = { query, hash: route.hash }
      void (step?.(before, value) ? router.push(target) : router.replace(target)).finally(() => {
        if (pending === query) pending = null
      })
    },
  })
}
