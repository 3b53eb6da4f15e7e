/** Fuzzy search: every letter of the query in its order; letters together and at the start of words count more. */

export interface Match {
  score: number
  /** Places of the query's letters in the text. */
  places: number[]
}

const TOGETHER = 6
const WORD_START = 8
const TEXT_START = 6
const GAP = 0.5
/** Letters that may lie between two of the query, on average. */
const SPREAD = 3

function isStart(text: string, at: number): boolean {
  return at === 0 || !/[\p{L}\p{N}]/u.test(text[at - 1] ?? '')
}

/** How well the letters from one place on fit; null: they are not there, or too far apart to be meant. */
function walk(text: string, query: string, from: number): Match | null {
  const places: number[] = []
  let score = 0
  let at = from
  for (const letter of query) {
    const next = text.indexOf(letter, at)
    if (next < 0 || next - from > query.length * SPREAD + SPREAD) return null
    const follows = places.length > 0 && next === (places.at(-1) as number) + 1
    score += 1 + (follows ? TOGETHER : 0) + (isStart(text, next) ? WORD_START : 0) + (next === 0 ? TEXT_START : 0)
    if (places.length && !follows) score -= (next - (places.at(-1) as number)) * GAP
    places.push(next)
    at = next + 1
  }
  return { score, places }
}

function bestWalk(text: string, word: string): Match | null {
  let best: Match | null = null
  for (let from = text.indexOf(word[0] as string); from >= 0; from = text.indexOf(word[0] as string, from + 1)) {
    const found = walk(text, word, from)
    if (found && (!best || found.score > best.score)) best = found
  }
  return best
}

/**
 * Words of the query may stand anywhere: in the text with letters left out, or as they are in `more`, which counts
 * less. Null: one of them is in neither.
 */
export function fuzzyMatch(query: string, text: string, more = ''): Match | null {
  const lower = text.toLowerCase()
  const rest = more.toLowerCase()
  const places: number[] = []
  let score = -text.length * 0.01
  for (const word of query.toLowerCase().split(/\s+/).filter(Boolean)) {
    const best = bestWalk(lower, word)
    if (!best && !rest.includes(word)) return null
    score += best ? best.score : word.length
    places.push(...(best?.places ?? []))
  }
  return { score, places: [...new Set(places)].sort((a, b) => a - b) }
}

/** What matches, best first; without a query all in their order. */
export function ranked<T>(items: readonly T[], query: string, textOf: (item: T) => string, limit: number, moreOf: (item: T) => string = () => ''): { item: T; places: number[] }[] {
  if (!query.trim()) return items.slice(0, limit).map((item) => ({ item, places: [] }))
  const found: { item: T; places: number[]; score: number }[] = []
  for (const item of items) {
    const match = fuzzyMatch(query, textOf(item), moreOf(item))
    if (match) found.push({ item, ...match })
  }
  return found.sort((a, b) => b.score - a.score).slice(0, limit)
}

/** A text in parts that are matched or not. */
export function parts(text: string, places: readonly number[]): { text: string; hit: boolean }[] {
  const hits = new Set(places)
  const out: { text: string; hit: boolean }[] = []
  for (const [i, letter] of [...text].entries()) {
    const hit = hits.has(i)
    const last = out.at(-1)
    if (last?.hit === hit) last.text += letter
    else out.push({ text: letter, hit })
  }
  return out
}
