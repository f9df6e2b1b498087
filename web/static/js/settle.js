// A card takes no answer in the moment after another one was answered here: the
// second half of a double click, or a key pressed twice, is no word on a card
// that has just come to the same place.

import { cardOf } from './card.js'
import { toast } from './toast.js'

const quiet = 800 // ms: longer than a double click, shorter than reading a card
let timer = 0, answered = ''

// begin begins that moment; the body says so.
function begin(e) {
  answered = e.detail
  document.body.dataset.settling = ''
  clearTimeout(timer)
  timer = setTimeout(() => { delete document.body.dataset.settling }, quiet)
}

export function start() {
  document.addEventListener('lembas:answering', begin)
  document.addEventListener('click', e => {
    const card = cardOf(e.target), other = card && card.dataset.consent !== answered
    if (!card || !e.target.closest('button') || !(e.detail > 1 || (other && 'settling' in document.body.dataset))) return
    e.preventDefault()
    e.stopPropagation()
    if (other) toast({ text: 'This is another card. Read it, then answer.', key: 'settling' })
  }, true)
}
