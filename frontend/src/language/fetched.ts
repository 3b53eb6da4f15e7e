/** For tests: every language is here before the first of them runs. */

import { fetchWords, LANGUAGE_NAMES } from '@/language/words'
import type { Language } from '@/language/words'

await Promise.all((Object.keys(LANGUAGE_NAMES) as Language[]).map(fetchWords))
