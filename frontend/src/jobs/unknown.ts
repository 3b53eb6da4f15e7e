/** What is not known of a job, said instead of left out. */

import type { JobDetail } from '@/jobs/schema'
import type { Words } from '@/language/en'

/** More ranks are not listed one by one. */
const MOST_RANKS = 12

/** Numbers as a reader writes them: `1–3, 7`. */
export function rankText(ranks: readonly number[]): string {
  const runs: [number, number][] = []
  for (const rank of ranks) {
    const last = runs.at(-1)
    if (last && rank === last[1] + 1) last[1] = rank
    else runs.push([rank, rank])
  }
  const told = runs.slice(0, MOST_RANKS).map(([from, to]) => (from === to ? String(from) : `${from}–${to}`))
  return told.join(', ') + (runs.length > MOST_RANKS ? ', …' : '')
}

export function unknownOf(job: JobDetail, { job: told }: Words): string[] {
  const out: string[] = []
  const size = job.world_size
  const knowsRanks = job.parts.some((part) => part.ranks.some((rank) => rank.rank !== null))
  if (job.master && size !== null && job.parts.length > 1) out.push(told.together(job.master, size))
  if (!knowsRanks) out.push(told.noRanks)
  else if (!job.master && job.missing_ranks.length) out.push(told.oneHost)
  if (size !== null && job.missing_ranks.length) out.push(told.missingRanks(rankText(job.missing_ranks), size))
  if (job.unsure_hosts.length) out.push(told.unsure(job.unsure_hosts.join(', ')))
  if (job.more_hosts) out.push(told.more(job.more_hosts))
  out.push(told.requests)
  return out
}
