/** Ending the session: what was read goes with it. */

import { useQueryClient } from '@tanstack/vue-query'
import { shallowRef } from 'vue'
import { useRouter } from 'vue-router'
import { ApiError, postEmpty } from '@/api/client'

export function useLogout() {
  const client = useQueryClient()
  const router = useRouter()
  const error = shallowRef('')

  async function logout(): Promise<void> {
    error.value = ''
    try {
      await postEmpty('/logout')
    } catch (failure) {
      // Who is not logged in any more is where logging out leads.
      if (!(failure instanceof ApiError && failure.status === 401)) {
        error.value = failure instanceof Error ? failure.message : String(failure)
        return
      }
    }
    await router.push({ name: 'login' })
    client.clear()
  }

  return { logout, error }
}
