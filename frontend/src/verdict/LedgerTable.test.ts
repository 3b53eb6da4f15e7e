// @vitest-environment happy-dom
import { afterEach, expect, it } from 'vitest'
import type { App } from 'vue'
import { createApp, h, nextTick } from 'vue'
import type { LedgerRow } from '@/api/schema'
import type { Span } from '@/time/span'
import { language, speak } from '@/language/words'
import LedgerTable from '@/verdict/LedgerTable.vue'

const NS = 1_000_000
let app: App | null = null

afterEach(() => {
  app?.unmount()
  language.value = 'en'
  document.body.replaceChildren()
})

function row(cause: string, share: number, more: Partial<LedgerRow> = {}): LedgerRow {
  return {
    cause, title: `title of ${cause}`, row_class: 'fault', gpu_seconds: share * 20, share, confidence: 0.5, evidence_for: [],
    evidence_against: [], would_change: '', advice: '', priority: '', hotspots: [], expected_gain: '', expected_gain_gpu_seconds: null, source: '', ...more,
  }
}

function mount(rows: LedgerRow[], verdict: string): Span[] {
  const shown: Span[] = []
  const root = document.createElement('div')
  document.body.append(root)
  app = createApp({ render: () => h(LedgerTable, { rows, verdict, onShow: (span: Span) => shown.push(span) }) })
  app.mount(root)
  return shown
}

function rowOf(cause: string): HTMLElement {
  const found = document.querySelector<HTMLElement>(`[data-testid="ledger-row"][data-cause="${cause}"]`)
  if (!found) throw new Error(`no row for ${cause}`)
  return found
}

it('opens the row of the verdict, with its functions and lines', () => {
  const spot = { function: 'decode', file: '/srv/app/serve.py', line: 12, source: ' image.load()', share: 0.6, samples: 9, thread: 'main', pid: 1 }
  mount([row('h2d_copy', 0.1), row('cpu_preprocess', 0.8, { hotspots: [spot], advice: 'Decode on the GPU.', priority: 'P0' })], 'cpu_preprocess')
  const text = rowOf('cpu_preprocess').textContent ?? ''
  for (const part of ['decode', 'app/serve.py:12', 'image.load()', '60 %', 'P0', 'Decode on the GPU.', '16.0 GPU-s', '80 %']) expect(text).toContain(part)
  expect(rowOf('h2d_copy').querySelector('button')?.getAttribute('aria-expanded')).toBe('false')
})

it('jumps to where a piece of evidence shows', async () => {
  const fact = { signal: 's', text: 'fact', value: 1, threshold: 0.3, unit: 'ratio', spans: [{ start_ns: 5000 * NS, end_ns: 7000 * NS }] }
  const shown = mount([row('io_wait', 0.2, { evidence_for: [fact] }), row('unknown', 0.1)], 'unknown')
  rowOf('io_wait').querySelector('button')?.click()
  await nextTick()
  expect(rowOf('io_wait').textContent).toContain('100 % against 30 %')
  rowOf('io_wait').querySelector<HTMLButtonElement>('[title="Show this span"]')?.click()
  expect(shown).toEqual([{ from: 5000, to: 7000 }])
})

it('leaves rows without time out', () => {
  mount([row('healthy', 1, { row_class: 'good' }), row('throttled', 0)], 'healthy')
  expect(document.querySelectorAll('[data-testid="ledger-row"]')).toHaveLength(1)
})

it('changes its words with the language, in the order of that language', async () => {
  const fact = { signal: 's', text: '空闲时间的占比', value: 0.8, threshold: 0.3, unit: 'ratio', spans: [] }
  mount([row('io_wait', 0.2, { evidence_for: [fact] })], 'io_wait')
  expect(rowOf('io_wait').textContent).toContain('to fix')
  await speak('zh-Hans')
  await nextTick()
  const text = rowOf('io_wait').textContent ?? ''
  for (const part of ['需修复', '支持的证据', '空闲时间的占比： 80%（阈值 30%）']) expect(text).toContain(part)
})
