import vue from '@vitejs/plugin-vue'
import { defineConfig } from 'vitest/config'

/** Where `npm run dev` finds a server; the built page is served by the backend itself. */
const DEVELOPMENT_SERVER = 'http://127.0.0.1:8765'

/** What the timeline of a host is made of, the drawer over a span included. */
const TIMELINE =
  /uplot|src\/(annotations|canvas|contrast|flame|gaps|live|selection|series|timeline|verdict)\/|src\/share\/ShareButton/

export default defineConfig({
  plugins: [vue()],
  resolve: { alias: { '@': new URL('./src', import.meta.url).pathname } },
  define: { __VUE_OPTIONS_API__: 'false' },
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
    rolldownOptions: {
      output: {
        // Few files, each with its own words: code that is compressed together is smaller than many little chunks.
        codeSplitting: {
          groups: [
            { name: 'en', test: /src\/language\/en/, priority: 4 },
            { name: 'zh', test: /src\/language\/zh/, priority: 4 },
            { name: 'base', tags: ['$initial'], priority: 3 },
            { name: 'timeline', test: TIMELINE, priority: 2 },
            { name: 'pages', test: /./, priority: 1 },
          ],
        },
      },
    },
  },
  test: {
    include: ['src/**/*.test.ts'],
    setupFiles: ['src/language/fetched.ts'],
  },
})
