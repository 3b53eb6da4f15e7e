/** Whether an answer is coarser than what was asked for, because the samples of its time are kept no more. */

import type { SeriesAnswer } from '@/api/schema'

/** The finest figures that outlive the samples. */
const FIRST_TIER_MS = 10_000

/** Length of the answer's buckets where they are much wider than `askedMs`; null where samples or fitting buckets came. */
export function coarseBucket(answer: SeriesAnswer, askedMs: number): number | null {
  const bucket = answer.raw ? null : answer.bucket_ms
  return bucket !== null && bucket >= FIRST_TIER_MS && bucket >= 2 * askedMs ? bucket : null
}
