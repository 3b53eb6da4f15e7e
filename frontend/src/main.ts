import '@fontsource-variable/inter/wght.css'
import '@/styles/tokens.css'
import '@/styles/base.css'
import '@/styles/global.css'
import { QueryClient, VueQueryPlugin } from '@tanstack/vue-query'
import { createApp } from 'vue'
import App from '@/App.vue'
import { ApiError, onUnauthorized } from '@/api/client'
import { UNREACHED } from '@/language/words'
import { usePreferences } from '@/preferences/store'
import { router } from '@/router'

const MAX_RETRIES = 2

const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      // What the server refused it will refuse again; only a lost connection or its own failure is worth a retry.
      retry: (failures, error) =>
        failures < MAX_RETRIES && !(error instanceof ApiError && error.status >= 400 && error.status < 500),
    },
  },
})

onUnauthorized(() => {
  const here = router.currentRoute.value
  if (here.name !== 'login') void router.replace({ name: 'login', query: { next: here.fullPath } })
})

const app = createApp(App).use(VueQueryPlugin, { queryClient }).use(router)
// Nothing is painted in a language that is not the reader's.
usePreferences().ready().then(
  () => app.mount('#app'),
  () => document.querySelector('#app')?.append(UNREACHED),
)
