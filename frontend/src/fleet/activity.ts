/** Mean of what is known, such as of a GPU's last minute: one flicker must not colour a whole cell. Null: nothing is. */
export function activity(values: readonly (number | null)[]): number | null {
  let sum = 0
  let count = 0
  for (const value of values) {
    if (value === null) continue
    sum += value
    count += 1
  }
  return count ? sum / count : null
}
