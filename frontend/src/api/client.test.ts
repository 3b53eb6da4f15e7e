import { afterEach, expect, it, vi } from 'vitest'
import { ApiError, getJson, onUnauthorized, postJson, queryText } from '@/api/client'
import { language } from '@/language/words'

function answer(status: number, body: string): void {
  vi.stubGlobal('fetch', () => Promise.resolve(new Response(body, { status })))
}

afterEach(() => {
  vi.unstubAllGlobals()
  language.value = 'en'
})

it('repeats keys that have several values', () => {
  expect(queryText({ from: 5, entity: ['core:*', 'gpu:a'] })).toBe('from=5&entity=core%3A*&entity=gpu%3Aa')
})

it('tells what the server said was wrong', async () => {
  answer(422, JSON.stringify({ error: 'span', detail: 'The span is longer than 1 h.', where: 'to' }))
  await expect(getJson('/x')).rejects.toMatchObject({ status: 422, message: 'The span is longer than 1 h.' })
})

it('says so when the server cannot be reached', async () => {
  vi.stubGlobal('fetch', () => Promise.reject(new TypeError('failed')))
  await expect(getJson('/x')).rejects.toBeInstanceOf(ApiError)
  await expect(getJson('/x')).rejects.toThrow('cannot be reached')
})

it('leads to the login when a read is refused, not when a login is', async () => {
  const handler = vi.fn()
  onUnauthorized(handler)
  answer(401, '{"error":"login","detail":"used","where":""}')
  await expect(postJson('/login', { token: 'x' })).rejects.toThrow('used')
  expect(handler).not.toHaveBeenCalled()
  await expect(getJson('/hosts')).rejects.toThrow()
  expect(handler).toHaveBeenCalledOnce()
})

it('asks in the language of the page', async () => {
  const asked: unknown[] = []
  vi.stubGlobal('fetch', (_: string, init: RequestInit) => {
    asked.push(init.headers)
    return Promise.resolve(new Response('{}', { status: 200 }))
  })
  await getJson('/hosts')
  language.value = 'zh-Hans'
  await postJson('/login', {})
  expect(asked).toEqual([{ 'Accept-Language': 'en' }, { 'Content-Type': 'application/json', 'Accept-Language': 'zh-Hans' }])
})
