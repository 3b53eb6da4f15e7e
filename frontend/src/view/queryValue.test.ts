// @vitest-environment happy-dom
import { afterEach, expect, it } from 'vitest'
import { createApp, defineComponent, h } from 'vue'
import type { WritableComputedRef } from 'vue'
import { createMemoryHistory, createRouter } from 'vue-router'
import { byOf, orderOf } from '@/flame/choice'
import { useQueryValue } from '@/view/queryValue'

let end = (): void => undefined
afterEach(() => end())

async function inAddress<T>(address: string, make: () => WritableComputedRef<T>) {
  const router = createRouter({ history: createMemoryHistory(), routes: [{ path: '/', component: defineComponent(() => () => h('p')) }] })
  await router.push(address)
  let value: WritableComputedRef<T> | undefined
  const app = createApp(defineComponent(() => {
    value = make()
    return () => h('p')
  }))
  app.use(router).mount(document.createElement('div'))
  end = () => app.unmount()
  return { router, value: value as WritableComputedRef<T> }
}

it('reads and writes the address, and keeps the usual choice out of it', async () => {
  const { router, value } = await inAddress('/?order=time&t=1-2', () => useQueryValue('order', orderOf, (order) => (order === 'heavy' ? '' : order)))
  expect(value.value).toBe('time')
  value.value = 'name'
  await expect.poll(() => router.currentRoute.value.fullPath).toBe('/?order=name&t=1-2')
  value.value = 'heavy'
  await expect.poll(() => router.currentRoute.value.fullPath).toBe('/?t=1-2')
  expect(value.value).toBe('heavy')
})

it.each([['order=', 'heavy'], ['order=what', 'heavy'], ['order=time&order=name', 'heavy'], ['', 'heavy']])('takes %j for the usual order', async (query, order) => {
  const { value } = await inAddress(`/?${query}`, () => useQueryValue('order', orderOf, String))
  expect(value.value).toBe(order)
})

it('knows the roots of a flame graph', () => {
  expect([byOf('thread'), byOf('x'), byOf('')]).toEqual(['thread', 'none', 'none'])
})
