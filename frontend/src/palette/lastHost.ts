/** The host that was looked at last, in this browser. */

import { useStorage } from '@vueuse/core'
import type { RemovableRef } from '@vueuse/core'

export function useLastHost(): RemovableRef<string> {
  return useStorage('gapscope.lastHost', '')
}
