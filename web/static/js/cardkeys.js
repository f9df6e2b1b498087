// Cards by keyboard: A, E and D while the focus is in a card and not in a field.
// A click that only brings the window to the front answers nothing.

import { about, asks, cardOf, itemsOf, next } from './card.js'
import { toast } from './toast.js'

const keys = { a: '[data-verdict=allow]', e: '[data-act=card-edit]', d: '[data-verdict=deny]' }
const grace = 300 // ms after the window came to the front

export function start() {
  document.addEventListener('keydown', key, true) // before Esc stops the reply
  let away = false, woken = -Infinity, asleep = false
  addEventListener('blur', e => { away ||= e.target === self })
  addEventListener('focus', e => {
    if (e.target !== self) return
    if (away) woken = performance.now()
    away = false
  })
  document.addEventListener('pointerdown', e => { asleep = e.pointerType === 'mouse' && performance.now() - woken < grace }, true)
  // Neither does it move the focus into the card: the next letter typed would answer.
  // Nor does the second half of a double click on a button, out of the box that the first opened.
  let button
  document.addEventListener('mousedown', e => {
    if (e.detail < 2) button = e.target.closest('button')
    if (cardOf(e.target) && (asleep || (e.detail > 1 && button))) e.preventDefault()
  }, true)
  document.addEventListener('click', e => {
    if (!asleep || !e.detail || !cardOf(e.target) || !e.target.closest('button')) return
    e.preventDefault()
    toast({ text: 'That click only brought the window to the front. Press again to answer.', key: 'woken' })
  }, true)
}

function key(e) {
  const card = cardOf(e.target)
  if (!card || e.isComposing || e.keyCode === 229) return
  if (e.key === 'Escape') return leave(e, card)
  if (e.key === 'Enter' && e.target.matches('textarea')) return enter(e, card)
  if (e.ctrlKey || e.metaKey || e.altKey || e.shiftKey || e.repeat || e.target.matches('textarea') || document.body.dataset.shortcuts === 'off') return
  press(e, card, keys[letter(e)])
}

// letter is what the key writes; by its place where the layout has other letters.
const letter = e => /^[a-z]$/i.test(e.key) ? e.key.toLowerCase() : e.key.length === 1 && e.key > '\x7f' ? e.code.replace('Key', '').toLowerCase() : ''

// press presses the button of the item that has the focus, else the one for all.
function press(e, card, css) {
  const items = itemsOf(card), item = about(e.target) || (items.length === 1 && items[0])
  if (!css || (item ? asks(item) : items.every(asks))) return
  const el = (item || card.querySelector('[data-slot=all]'))?.querySelector(css)
  if (!el) return
  e.preventDefault()
  el.click()
}

// leave closes a box, or leaves the card for the composer; Esc in a card stops nothing.
function leave(e, card) {
  e.preventDefault()
  e.stopPropagation()
  const undo = e.target.closest('[data-slot=edit], [data-slot=deny]')?.querySelector('[data-act=card-unedit], [data-act=card-keep]')
  if (undo) undo.click()
  else (document.getElementById('prompt') || document.getElementById('main')).focus()
}

// enter: a reason is sent; an edit may have several lines and needs Ctrl; an
// answer goes on to the next question, or is sent.
function enter(e, card) {
  const what = e.target.dataset.slot, strong = e.ctrlKey || e.metaKey
  const plain = !e.shiftKey && document.body.dataset.enter !== 'newline' && !matchMedia('(pointer: coarse)').matches
  if (!strong && (!plain || what === 'argument')) return
  e.preventDefault()
  if (e.repeat) return
  if (what === 'argument') press(e, card, keys.a)
  else if (what === 'reason') e.target.closest('[data-slot=deny]').querySelector('[data-act=card-deny]').click()
  else if (next(card) === undefined) card.querySelector('[data-act=card-send]').click()
}
