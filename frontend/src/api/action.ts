import { useQueryClient } from '@tanstack/vue-query'
import { shallowRef } from 'vue'

/**
 * One action at a time; what it gave, or null after a failure, which is told.
 * What stands under `queryKey` is read anew after each.
 */
export function useAction(queryKey: string) {
  const client = useQueryClient()
  const busy = shallowRef(false)
  const error = shallowRef('')

  async function act<T>(send: () => Promise<T>): Promise<T | null> {
    busy.value = true
    error.value = ''
    try {
      return await send()
    } catch (failure) {
      error.value = failure instanceof Error ? failure.message : String(failure)
      return null
    } finally {
      busy.value = false
      void client.invalidateQueries({ queryKey: [queryKey] })
    }
  }

  return { busy, error, act }
}
