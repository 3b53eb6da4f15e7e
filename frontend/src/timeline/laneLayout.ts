/**
 * The order of the lanes, which are folded and which are pinned, as two values of the address:
 * `lanes=cores,-ribbon,*gpu1-more` puts the cores first, folds the ribbon and opens what is folded at first;
 * `pin=cores` keeps the cores in sight. Lanes that `lanes` does not place follow in their usual order.
 */

export interface LaneItem {
  key: string
  /** The group that the lane stands in; null at the top. Groups are items themselves. */
  group: string | null
  /** Folded as long as the address says nothing. */
  folded: boolean
}

export interface LaneLayout {
  order: readonly string[]
  folded: ReadonlySet<string>
  pinned: readonly string[]
}

export interface LayoutQuery {
  lanes: string | undefined
  pin: string | undefined
}

const KEY = /^[a-z][a-z0-9-]*$/

function words(text: unknown): string[] {
  return typeof text === 'string' ? [...new Set(text.split(','))] : []
}

export function layoutOf(items: readonly LaneItem[], { lanes, pin }: { lanes?: unknown; pin?: unknown }): LaneLayout {
  const known = new Set(items.map((item) => item.key))
  const told = words(lanes)
  const first = told.filter((word) => KEY.test(word) && known.has(word))
  const folded = new Set(items.filter((item) => item.folded).map((item) => item.key))
  for (const word of told) {
    if (word.startsWith('-') && known.has(word.slice(1))) folded.add(word.slice(1))
    if (word.startsWith('*')) folded.delete(word.slice(1))
  }
  const rest = items.map((item) => item.key).filter((key) => !first.includes(key))
  return { order: [...first, ...rest], folded, pinned: words(pin).filter((word) => known.has(word)) }
}

/** The shortest beginning of the order after which the rest stands as usual. */
function placed(items: readonly LaneItem[], order: readonly string[]): string[] {
  const usual = items.map((item) => item.key)
  for (let count = 0; count < order.length; count += 1) {
    const first = order.slice(0, count)
    const rest = usual.filter((key) => !first.includes(key))
    if (rest.every((key, i) => key === order[count + i])) return first
  }
  return [...order]
}

export function layoutQuery(items: readonly LaneItem[], layout: LaneLayout): LayoutQuery {
  const turned = items.filter((item) => layout.folded.has(item.key) !== item.folded).map((item) => (item.folded ? '*' : '-') + item.key)
  const lanes = [...placed(items, layout.order), ...turned]
  return { lanes: lanes.length ? lanes.join(',') : undefined, pin: layout.pinned.length ? layout.pinned.join(',') : undefined }
}

/** The lanes that `key` may change places with, itself among them, in the order in which they stand. */
export function siblings(items: readonly LaneItem[], layout: LaneLayout, key: string): string[] {
  if (layout.pinned.includes(key)) return [...layout.pinned]
  const group = items.find((item) => item.key === key)?.group ?? null
  const alike = new Set(items.filter((item) => item.group === group && !layout.pinned.includes(item.key)).map((item) => item.key))
  return layout.order.filter((other) => alike.has(other))
}

function inserted(keys: readonly string[], key: string, target: string, after: boolean): string[] {
  const others = keys.filter((other) => other !== key)
  others.splice(others.indexOf(target) + Number(after), 0, key)
  return others
}

/** With `key` right before or after `target`; as it is where these two are no siblings. */
export function moved(items: readonly LaneItem[], layout: LaneLayout, key: string, target: string, after: boolean): LaneLayout {
  if (key === target || !siblings(items, layout, key).includes(target)) return layout
  if (layout.pinned.includes(key)) return { ...layout, pinned: inserted(layout.pinned, key, target, after) }
  return { ...layout, order: inserted(layout.order, key, target, after) }
}

/** One place up (-1) or down (1) among the siblings. */
export function stepped(items: readonly LaneItem[], layout: LaneLayout, key: string, by: 1 | -1): LaneLayout {
  const alike = siblings(items, layout, key)
  const target = alike[alike.indexOf(key) + by]
  return target === undefined ? layout : moved(items, layout, key, target, by === 1)
}

export function folded(layout: LaneLayout, key: string): LaneLayout {
  const next = new Set(layout.folded)
  if (!next.delete(key)) next.add(key)
  return { ...layout, folded: next }
}

/** A pinned lane is open: it was pinned to be seen. */
export function pinned(layout: LaneLayout, key: string): LaneLayout {
  if (layout.pinned.includes(key)) return { ...layout, pinned: layout.pinned.filter((other) => other !== key) }
  const open = new Set(layout.folded)
  open.delete(key)
  return { ...layout, folded: open, pinned: [...layout.pinned, key] }
}
