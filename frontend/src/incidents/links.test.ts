import { expect, it } from 'vitest'
import type { IncidentDetail } from '@/api/incidentSchema'
import { gpuName, isJudgedInPart, judgedSpan, timelineQuery } from '@/incidents/links'

function detail(start: string): IncidentDetail {
  return { summary: { start }, verdict: { start_ns: 60e9, end_ns: 160e9 } } as unknown as IncidentDetail
}

it('leads to the judged part, selected, with room around it', () => {
  const span = judgedSpan(detail('1970-01-01T00:01:00Z'))
  expect(timelineQuery(span, 'flame')).toEqual({ t: '45000-175000', sel: '60000-160000', tab: 'flame', mode: 'gaps' })
  expect(timelineQuery(span, 'verdict')).not.toHaveProperty('mode')
})

it('knows when the verdict covers the newest part alone', () => {
  expect(isJudgedInPart(detail('1970-01-01T00:01:00Z'))).toBe(false)
  expect(isJudgedInPart(detail('1970-01-01T00:00:30Z'))).toBe(true)
})

it.each([['gpu:index-3', '3'], ['gpu:GPU-0a1b2c3d-4e5f', 'GPU-0a1b2c3d']])('%s is called %s', (entity, name) => {
  expect(gpuName(entity)).toBe(name)
})
