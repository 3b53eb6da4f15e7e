/** The view of a share as text: the query of a page, kept with the share and laid over an address without one. */

import type { LocationQuery, LocationQueryRaw } from 'vue-router'
import type { Span } from '@/time/span'
import { spanQuery } from '@/view/url'

/** What a timeline keeps in its address, shown at a span. */
export function spanView(query: LocationQuery, span: Span): string {
  return viewTextOf({ ...query, t: spanQuery(span), sel: spanQuery(span) })
}

export function viewTextOf(query: LocationQueryRaw): string {
  const out = new URLSearchParams()
  for (const [key, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (typeof one === 'string') out.append(key, one)
    }
  }
  return out.toString()
}

/** The query of a view; of a key that stands twice, the last. */
export function queryOfView(view: string): LocationQueryRaw {
  return Object.fromEntries(new URLSearchParams(view))
}
