/** Keys that the help lists beside those of a timeline. */

import type { Words } from '@/language/en'
import type { KeyHelp } from '@/timeline/keys'

export function everywhereKeys({ keys, help }: Words): KeyHelp[] {
  return [
    { keys: ['ctrl k'], text: keys.palette },
    { keys: ['g f'], text: keys.toFleet },
    { keys: ['g h'], text: keys.toHost },
    { keys: ['g i'], text: keys.toIncidents },
    { keys: ['g a'], text: keys.toAlerts },
    { keys: ['g c'], text: keys.toCompare },
    { keys: ['g s'], text: keys.toSettings },
    { keys: ['?'], text: help.this },
    { keys: ['esc'], text: keys.close },
  ]
}

export function fleetKeys({ keys }: Words): KeyHelp[] {
  return [
    { keys: ['/'], text: keys.filter },
    { keys: ['←', '↑', '↓', '→'], text: keys.cells },
    { keys: ['enter'], text: keys.openCell },
    { keys: ['[', ']'], text: keys.scrub },
    { keys: ['l'], text: keys.now },
  ]
}

export function flameKeys({ keys, flame }: Words): KeyHelp[] {
  return [
    { keys: ['/'], text: keys.search },
    { keys: ['←', '↑', '↓', '→'], text: keys.boxes },
    { keys: ['enter'], text: keys.zoomBox },
    { keys: ['c'], text: keys.sandwich },
    { keys: ['i'], text: flame.invertHelp },
  ]
}
