/** What a capacity forecast says, in a headline and the figures behind it. */

import { bytes, duration } from '@/format/quantity'
import { words } from '@/language/words'
import type { Capacity } from '@/settings/queries'

const DAY_SECONDS = 86_400

export interface Outlook {
  headline: string
  detail: string
  /** The room is not seen from the server and has to be told. */
  asksLimit: boolean
  urgent: boolean
}

/** Fewer days than this deserve a look now. */
const URGENT_DAYS = 14

export function outlook(found: Capacity): Outlook {
  const { settings } = words.value
  const asksLimit = found.free_bytes === null
  if (found.growth_bytes_per_day === null) {
    return { headline: settings.unknownHistory, detail: settings.unknownHistoryText, asksLimit: false, urgent: found.read_only }
  }
  const growth = settings.growth(bytes(found.growth_bytes_per_day), duration(found.measured_seconds))
  const detail = found.steady_bytes === null ? growth : settings.growthTo(growth, bytes(found.steady_bytes))
  if (found.fills === null) return { headline: settings.unknownRoom, detail, asksLimit, urgent: found.read_only }
  const days = found.days_until_full
  if (days === null) return { headline: settings.never, detail, asksLimit, urgent: found.read_only }
  return { headline: settings.full(duration(days * DAY_SECONDS)), detail, asksLimit, urgent: found.read_only || days < URGENT_DAYS }
}

/** GiB of an address or a field as bytes; null when it says nothing usable. */
export function limitBytes(text: unknown): number | null {
  const value = typeof text === 'string' && /^\d{1,9}(\.\d{1,3})?$/.test(text) ? Number(text) : 0
  return value > 0 ? Math.round(value * 2 ** 30) : null
}
