/** State that the whole page shares: made by the first who asks, and there until the page goes. */

import type { Reactive } from 'vue'
import { effectScope, reactive } from 'vue'

let made = new Map<() => object, object>()

/** A function that gives the one instance of what `make` makes, its refs unwrapped. */
export function shared<T extends object>(make: () => T): () => Reactive<T> {
  return () => {
    const there = made.get(make) ?? effectScope(true).run(() => reactive(make())) as object
    made.set(make, there)
    return there as Reactive<T>
  }
}

/** For tests: everything is made anew. */
export function forgetShared(): void {
  made = new Map()
}
