/** Why a value is missing, in words; what the driver itself said is left as it is. */

import { words } from '@/language/words'

export function reasonText(reason: string): string {
  const known: Readonly<Record<string, string>> = words.value.laneStates.reasons
  return Object.hasOwn(known, reason) ? (known[reason] as string) : reason.replaceAll('_', ' ')
}
