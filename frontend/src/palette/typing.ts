/** Whether a key goes into a field that takes text. */
export function isTyping(event: Event): boolean {
  const target = event.target
  return target instanceof HTMLElement && (target.isContentEditable || target.matches('input, textarea, select'))
}
