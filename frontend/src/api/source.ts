/** Where the page reads hosts and incidents: from the server itself, or from what a share's link shows. */

import { computed, shallowRef } from 'vue'
import type { LocationQueryRaw, RouteLocationRaw } from 'vue-router'

/** The link of the share that is shown; null on every other page. */
export const sharedLink = shallowRef<string | null>(null)

/** A share is frozen: nothing in it can be changed, and nothing beside it be reached. */
export const isShared = computed(() => sharedLink.value !== null)

/** The path of the API under which something of a host, or an incident, is read. */
export function sourcePath(path: string): string {
  return sharedLink.value === null ? path : `/shared/${encodeURIComponent(sharedLink.value)}${path}`
}

/** The timeline of a host; in a share it has the share's own address. */
export function timelinePlace(host: string, query: LocationQueryRaw = {}): RouteLocationRaw {
  if (sharedLink.value === null) return { name: 'host', params: { host }, query }
  return { name: 'share', params: { link: sharedLink.value }, query }
}
