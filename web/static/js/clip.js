// The clipboard, also where plain http forbids the modern way.

import { say } from './announce.js'
import { toast } from './toast.js'

// copy puts text on the clipboard and says so, on the button and aloud.
export async function copy(text, button) {
  let done = false
  if (navigator.clipboard) done = await navigator.clipboard.writeText(text).then(() => true, () => false)
  if (!done) done = old(text)
  if (!done) return toast({ kind: 'error', text: 'The browser refused to copy. Select the text and copy it by hand.', key: 'copy' })
  say('Copied')
  flash(button)
}

// old selects a hidden field and asks the document to copy; selection and focus come back.
function old(text) {
  const field = document.createElement('textarea'), back = document.activeElement, selection = getSelection()
  const ranges = Array.from({ length: selection.rangeCount }, (_, i) => selection.getRangeAt(i))
  field.value = text
  field.readOnly = true
  field.setAttribute('aria-hidden', 'true')
  Object.assign(field.style, { position: 'fixed', top: '0', opacity: '0' })
  // Inside an open dialog everything outside is inert.
  ;(document.querySelector('dialog[open]') || document.body).append(field)
  field.select()
  const done = document.execCommand('copy')
  field.remove()
  back?.focus?.({ preventScroll: true })
  selection.removeAllRanges()
  ranges.forEach(r => selection.addRange(r))
  return done
}

// flash shows "Copied" on the button for a moment: CSS draws it from data-done.
function flash(button) {
  if (!button) return
  button.dataset.done = 'Copied'
  setTimeout(() => delete button.dataset.done, 1600)
}
