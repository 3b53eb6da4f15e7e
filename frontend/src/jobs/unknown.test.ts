import { describe, expect, it } from 'vitest'
import type { JobDetail } from '@/jobs/schema'
import { rankText, unknownOf } from '@/jobs/unknown'
import { EN } from '@/language/en'

it.each([[[1, 2, 3, 7], '1–3, 7'], [[0], '0'], [[], '']])('%j is written %j', (ranks, text) => {
  expect(rankText(ranks)).toBe(text)
})

it('does not list a thousand ranks one by one', () => {
  expect(rankText(Array.from({ length: 40 }, (_, i) => i * 2))).toMatch(/, …$/)
})

function job(changed: Partial<JobDetail>, rank: number | null = 0): JobDetail {
  const part = { ranks: [{ rank }] }
  return { parts: [part], world_size: null, missing_ranks: [], master: '', unsure_hosts: [], more_hosts: 0, ...changed } as unknown as JobDetail
}

describe('what is not known', () => {
  it('always says that nobody tells of requests', () => {
    expect(unknownOf(job({}), EN)).toEqual([EN.job.requests])
    expect(unknownOf(job({}, null), EN)).toEqual([EN.job.noRanks, EN.job.requests])
  })

  it('says why ranks are missing', () => {
    const told = unknownOf(job({ world_size: 4, missing_ranks: [1, 2, 3] }), EN)
    expect(told).toEqual([EN.job.oneHost, EN.job.missingRanks('1–3', 4), EN.job.requests])
    const master = unknownOf(job({ world_size: 4, missing_ranks: [3], master: '10.0.0.1', unsure_hosts: ['b'], more_hosts: 2 }), EN)
    expect(master).toEqual([EN.job.missingRanks('3', 4), EN.job.unsure('b'), EN.job.more(2), EN.job.requests])
  })
})
