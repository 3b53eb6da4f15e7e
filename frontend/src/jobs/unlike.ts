/** Which process of a job is unlike the others: ranks of one job do like work, so the one that differs is where to look. */

/** Seen between ranks of which one had more work or a slower path; like ranks differ by some per cent. */
const UNLIKE_SHARE = 0.7

/** For each value, whether it is well below what most of the others have; false where it is not known. */
export function farBelow(values: readonly (number | null)[]): boolean[] {
  const known = values.filter((value): value is number => value !== null).sort((a, b) => a - b)
  if (known.length < 2) return values.map(() => false)
  // Of two, the greater is what the other is set against.
  const usual = known[Math.floor(known.length / 2)] as number
  return values.map((value) => value !== null && value < UNLIKE_SHARE * usual)
}
