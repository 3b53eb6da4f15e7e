// @vitest-environment happy-dom
import { expect, it } from 'vitest'
import type { WritableComputedRef } from 'vue'
import { createApp, h } from 'vue'
import type { Router } from 'vue-router'
import { createMemoryHistory, createRouter, RouterView } from 'vue-router'
import { useQueryValue } from '@/view/query'

interface Values {
  filter: WritableComputedRef<string>
  at: WritableComputedRef<number | null>
}

async function page(address: string): Promise<Values & { router: Router }> {
  let values: Values | undefined
  const component = {
    setup: () => {
      values = {
        filter: useQueryValue('q', { parse: (text) => (typeof text === 'string' ? text : ''), text: (value) => value }),
        at: useQueryValue<number | null>('at', {
          parse: (text) => (typeof text === 'string' ? Number(text) : null),
          text: (value) => (value === null ? '' : String(value)),
          step: (from, to) => (from === null) !== (to === null),
        }),
      }
      return () => null
    },
  }
  const router = createRouter({ history: createMemoryHistory(), routes: [{ path: '/', component }] })
  await router.push(address)
  createApp({ render: () => h(RouterView) }).use(router).mount(document.createElement('div'))
  return { ...(values as unknown as Values), router }
}

const settled = (router: Router): Promise<void> => new Promise((resolve) => {
  const stop = router.afterEach(() => {
    stop()
    resolve()
  })
})

it('reads the address and leaves out what is the fallback', async () => {
  const { filter, at, router } = await page('/?q=gpu&at=60000&other=1')
  expect([filter.value, at.value]).toEqual(['gpu', 60_000])
  filter.value = ''
  await settled(router)
  expect(router.currentRoute.value.query).toEqual({ at: '60000', other: '1' })
})

it('keeps both of two values that are written at once', async () => {
  const { filter, at, router } = await page('/')
  filter.value = 'a'
  at.value = 60_000
  await settled(router)
  await expect.poll(() => router.currentRoute.value.fullPath).toBe('/?q=a&at=60000')
})

it('goes back over steps, not over moves between them', async () => {
  const { at, router } = await page('/')
  for (const time of [60_000, 120_000, 180_000]) {
    at.value = time
    await settled(router)
  }
  router.back()
  await settled(router)
  expect(at.value).toBeNull()
})
