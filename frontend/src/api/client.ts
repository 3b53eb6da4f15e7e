/** HTTP to the backend. Every failure becomes an ApiError; a 401 is also told to whoever listens, once a request. */

import type { Problem } from '@/api/schema'
import { language, words } from '@/language/words'

const BASE = '/api/v1'

export class ApiError extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.name = 'ApiError'
    this.status = status
  }
}

let unauthorized: () => void = () => {}

/** Sets what happens when the server says that nobody is logged in. */
export function onUnauthorized(handler: () => void): void {
  unauthorized = handler
}

async function problemOf(response: Response): Promise<string> {
  try {
    const problem = (await response.json()) as Partial<Problem>
    return problem.detail || problem.error || words.value.errors.status(response.status)
  } catch {
    return words.value.errors.noReason(response.status)
  }
}

async function send(path: string, init: RequestInit & { headers?: Record<string, string> }): Promise<Response> {
  try {
    // What the page shows it asks for in its own language, whatever the browser's is.
    const headers = { ...init.headers, 'Accept-Language': language.value }
    return await fetch(BASE + path, { credentials: 'same-origin', ...init, headers })
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error
    throw new ApiError(0, words.value.errors.unreachable)
  }
}

export async function getJson<T>(path: string, signal?: AbortSignal): Promise<T> {
  const response = await send(path, { signal: signal ?? null })
  if (response.status === 401) unauthorized()
  if (!response.ok) throw new ApiError(response.status, await problemOf(response))
  return (await response.json()) as T
}

async function sendJson<T>(method: string, path: string, body: unknown): Promise<T> {
  const response = await send(path, { method, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) })
  if (!response.ok) throw new ApiError(response.status, await problemOf(response))
  return (await response.json()) as T
}

/** POST of a JSON body. A 401 here is an answer (a wrong login), not a lost session. */
export function postJson<T>(path: string, body: unknown): Promise<T> {
  return sendJson('POST', path, body)
}

export function putJson<T>(path: string, body: unknown): Promise<T> {
  return sendJson('PUT', path, body)
}

/** POST that is answered by nothing. */
export async function postEmpty(path: string): Promise<void> {
  const response = await send(path, { method: 'POST' })
  if (!response.ok) throw new ApiError(response.status, await problemOf(response))
}

export async function deleteJson(path: string): Promise<void> {
  const response = await send(path, { method: 'DELETE' })
  if (!response.ok) throw new ApiError(response.status, await problemOf(response))
}

/** Query text with repeatable keys: `{ metric: ['a', 'b'] }` becomes `metric=a&metric=b`. */
export function queryText(values: Record<string, string | number | readonly string[]>): string {
  const query = new URLSearchParams()
  for (const [key, value] of Object.entries(values)) {
    if (typeof value === 'string' || typeof value === 'number') query.append(key, String(value))
    else for (const item of value) query.append(key, item)
  }
  return query.toString()
}
