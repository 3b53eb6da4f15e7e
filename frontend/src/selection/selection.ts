/** The selected span of a timeline, which view of it is open, and in which mode: all of it lives in the address. */

import type { ComputedRef } from 'vue'
import { computed } from 'vue'
import { useRoute, useRouter } from 'vue-router'
import { isFlameMode } from '@/flame/choice'
import type { DrawerTab, FlameMode } from '@/language/enAnalysis'
import type { Span } from '@/time/span'
import { limited } from '@/time/span'
import type { View } from '@/view/url'
import { parseSpan, spanQuery, viewText } from '@/view/url'

export const DRAWER_TABS: readonly DrawerTab[] = ['verdict', 'flame', 'contrast', 'processes', 'raw']
/** A flame graph answers first what ran while the GPU waited. */
const FIRST_MODE: FlameMode = 'gaps'

/** What the address says of a selection and of its flame graph. */
const OWN: ReadonlySet<string> = new Set(['sel', 'tab', 'mode', 'order', 'by', 'cpu', 'invert', 'find'])

export interface Selection {
  span: ComputedRef<Span | null>
  tab: ComputedRef<DrawerTab>
  mode: ComputedRef<FlameMode>
  select(span: Span, tab?: DrawerTab): void
  show(tab: DrawerTab): void
  /** Opens the flame graph in a mode. */
  setMode(mode: FlameMode): void
  clear(): void
}

export function isDrawerTab(text: unknown): text is DrawerTab {
  return typeof text === 'string' && (DRAWER_TABS as readonly string[]).includes(text)
}

/** `view` is what the timeline shows: a selection and the view that it was made in are one step of the history. */
export function useSelection(view: () => View): Selection {
  const route = useRoute()
  const router = useRouter()
  const text = computed(() => route.query.sel)
  const span = computed(() => parseSpan(text.value))
  const tab = computed<DrawerTab>(() => (isDrawerTab(route.query.tab) ? route.query.tab : 'verdict'))
  const mode = computed<FlameMode>(() => (isFlameMode(route.query.mode) ? route.query.mode : FIRST_MODE))

  return {
    span,
    tab,
    mode,
    select: (chosen, next = tab.value) => void router.push({ query: { ...route.query, t: viewText(view()), sel: spanQuery(limited(chosen)), tab: next } }),
    show: (next) => void router.push({ query: { ...route.query, tab: next } }),
    setMode: (next) => void router.replace({ query: { ...route.query, tab: 'flame', mode: next } }),
    clear: () => {
      const rest = Object.entries(route.query).filter(([name]) => !OWN.has(name))
      void router.push({ query: Object.fromEntries(rest) })
    },
  }
}
