/** What the palette offers. */

import type { RouteLocationRaw } from 'vue-router'
import type { IncidentSummary } from '@/api/incidentSchema'
import type { HostSummary } from '@/api/schema'
import { LANGUAGE_NAMES, words } from '@/language/words'
import type { Language } from '@/language/words'
import { GO_KEYS } from '@/palette/goKeys'
import type { GoTarget } from '@/palette/goKeys'
import type { usePreferences } from '@/preferences/store'

export type ItemKind = 'page' | 'host' | 'incident' | 'action'

export interface PaletteItem {
  id: string
  kind: ItemKind
  title: string
  detail: string
  /** Keys that do the same. */
  keys: string
  /** Where it leads, or what it does. */
  to: RouteLocationRaw | (() => unknown)
}

export interface PaletteActions {
  help: () => void
  logout: () => void
}

const keysOf = (target: GoTarget): string => `g ${Object.entries(GO_KEYS).find(([, name]) => name === target)?.[0] ?? ''}`

export function pageItems(lastHost: string): PaletteItem[] {
  const { palette, incidents, alerts, compare, settings, about } = words.value
  const page = (name: string, title: string, keys = ''): PaletteItem => ({ id: `page ${name}`, kind: 'page', title, detail: '', keys, to: { name } })
  const host: PaletteItem[] = lastHost
    ? [{ id: 'page host', kind: 'page', title: palette.lastHost(lastHost), detail: '', keys: keysOf('host'), to: { name: 'host', params: { host: lastHost } } }]
    : []
  return [
    page('fleet', palette.fleet, keysOf('fleet')), ...host, page('incidents', incidents.title, keysOf('incidents')), page('alerts', alerts.title, keysOf('alerts')),
    page('compare', compare.title, keysOf('compare')), page('settings', settings.title, keysOf('settings')), page('about', about.title),
  ]
}

export function hostItems(hosts: readonly HostSummary[]): PaletteItem[] {
  return hosts.map((host) => ({
    id: `host ${host.host}`,
    kind: 'host',
    title: host.host,
    detail: host.state === 'live' ? host.sentence : `${words.value.hostState[host.state]}  ${host.sentence}`,
    keys: '',
    to: { name: 'host', params: { host: host.host } },
  }))
}

export function incidentItems(incidents: readonly IncidentSummary[]): PaletteItem[] {
  return incidents.map((incident) => ({
    id: `incident ${incident.id}`,
    kind: 'incident',
    title: incident.sentence,
    detail: `${incident.host}  ${words.value.incidents.state[incident.state]}`,
    keys: '',
    to: { name: 'incident', params: { id: incident.id } },
  }))
}

export function actionItems(preferences: ReturnType<typeof usePreferences>, { help, logout }: PaletteActions): PaletteItem[] {
  const { palette } = words.value
  const action = (id: string, title: string, to: () => unknown, keys = ''): PaletteItem => ({ id: `action ${id}`, kind: 'action', title, detail: '', keys, to })
  const languages = Object.entries(LANGUAGE_NAMES).map(([tag, name]) => action(tag, name, () => preferences.chooseLanguage(tag as Language)))
  return [
    preferences.theme === 'dark' ? action('light', palette.light, () => preferences.chooseTheme('light')) : action('dark', palette.dark, () => preferences.chooseTheme('dark')),
    ...(preferences.chosenTheme === 'system' ? [] : [action('system', palette.systemTheme, () => preferences.chooseTheme('system'))]),
    preferences.zone === 'utc' ? action('local', palette.local, () => preferences.chooseZone('local')) : action('utc', palette.utc, () => preferences.chooseZone('utc')),
    ...languages,
    action('copy', palette.copyLink, () => navigator.clipboard?.writeText(window.location.href)),
    action('help', palette.help, help, '?'),
    action('logout', palette.logout, logout),
  ]
}
