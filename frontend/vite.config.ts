import vue from '@vitejs/plugin-vue'
import { defineConfig } from 'vitest/config'

/** Where `npm run dev` finds a server; the built page is served by the backend itself. */
const DEVELOPMENT_SERVER = 'http://127.0.0.1:8765'

export default defineConfig({
  plugins: [vue()],
  resolve: { alias: { '@': new URL('./src', import.meta.url).pathname } },
  server: {
    proxy: { '/api': { target: DEVELOPMENT_SERVER, ws: true } },
  },
  build: {
    outDir: 'gapscope_frontend/static',
    emptyOutDir: true,
    // The content security policy allows fonts and scripts from files only, so nothing is inlined as data: URLs.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2022',
    reportCompressedSize: true,
  },
  test: {
    include: ['src/**/*.test.ts'],
  },
})
