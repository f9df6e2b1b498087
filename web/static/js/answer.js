// An answer on its way: sent once, and what becomes of it.

import { api, uid } from './api.js'
import { draft, part, keep, forget } from './draft.js'
import { toast } from './toast.js'

const sending = new Set() // ids on their way, and answered ones until the stream shows it
const ended = new Set() // ids of records
const left = new Set() // ids answered here while the focus was in the card

export const busy = card => sending.has(card.dataset.consent)
const chatOf = card => (card.closest('[data-chat]') || document.querySelector('main')).dataset.chat || document.querySelector('main').dataset.chatId

// answer is the word on one item. An edit that changed nothing is none.
export function answer(card, item, v, reason) {
  const out = { key: item.dataset.item, verdict: v }
  if (v === 'deny') return reason?.trim() ? { ...out, reason: reason.trim() } : out
  return unlike(card, item) ? { ...out, arguments: replaced(item, part(card, item).edit) } : out
}

// unlike says whether an item was corrected. A textarea has no \r.
export function unlike(card, item) {
  const { editing, edit } = part(card, item)
  return !!editing && edit !== item.querySelector('[data-slot=argument]').defaultValue.replace(/\r\n?/g, '\n')
}

// replaced gives the whole arguments with one member corrected. Numbers keep
// their digits where the browser can.
function replaced(item, value) {
  const exact = (_, v, { source } = {}) => typeof v === 'number' && source && JSON.rawJSON ? JSON.rawJSON(source) : v
  return { ...JSON.parse(item.dataset.arguments, exact), [item.querySelector('[data-slot=argument]').dataset.argument]: value }
}

export async function send(card, answers) {
  const id = card.dataset.consent, d = draft(card), text = JSON.stringify(answers)
  const empty = answers.find(a => a.arguments && !d.parts[a.key].edit.trim())
  if (empty) return fault(card, 'What is edited is empty. Write what shall run, or deny it.')
  // The same answer again carries the same key: it may have arrived.
  if (d.body !== text) Object.assign(d, { body: text, key: uid() })
  keep(card)
  sending.add(id)
  fault(card, '')
  if (card.contains(document.activeElement)) left.add(id)
  document.dispatchEvent(new CustomEvent('lembas:answering', { detail: id }))
  changed()
  try {
    await api('POST', `/chats/${chatOf(card)}/interactions/${id}`, { answers }, d.key)
    forget(card)
  } catch (err) {
    failed(card, err)
  }
  document.dispatchEvent(new CustomEvent('lembas:answered'))
}

const changed = () => document.dispatchEvent(new CustomEvent('lembas:fetched'))

const over = {
  answered: 'This card was answered already, in another tab or on another device. It shows that answer.',
  expired: 'This card has expired: nobody answered in time.',
  withdrawn: 'This card was withdrawn before the answer came.',
}

// failed says what became of an answer that was not taken. Where somebody else's
// word stands, the stream brings it; else nothing is lost and the buttons come back.
function failed(card, err) {
  const id = card.dataset.consent, words = err.status === 409 && over[err.state]
  if (words) {
    forget(card)
    return toast({ kind: 'warn', text: words, key: 'card-' + id })
  }
  sending.delete(id)
  left.delete(id)
  changed()
  fault(card, err.status === 404 ? 'This card is not there any more; its chat may have been deleted. Reload the page.'
    : err.status === 422 ? `${wrong(card, err)} Change the answer and send it again.`
      : `${err.message} Your answer was not taken and is kept here: try again.`)
}

// wrong says what is wrong with an answer, and where there are several items with which.
function wrong(card, err) {
  const words = Object.entries(err.errors).map(([field, e]) => {
    const said = String(e?.detail || e), key = /^answers\[(.*)\]/.exec(field)?.[1]
    const item = [...card.querySelectorAll('[data-item]')].find((i, _, all) => all.length > 1 && i.dataset.item === key)
    const where = item?.ariaLabel || item?.querySelector('legend')?.textContent.trim()
    return (where ? `${where}: ` : '') + said.slice(0, 1).toUpperCase() + said.slice(1).replace(/[^.!?]$/, '$&.')
  })
  return words.join(' ') || err.message
}

// fault says in the card what is wrong, at once and aloud; '' takes it away.
export function fault(card, words) {
  const el = card.querySelector('[data-slot=error]')
  if (el && el.textContent !== words) el.textContent = words
  if (words) el?.scrollIntoView({ block: 'nearest' })
}

// done: the card is a record now, and no card again.
export function done(card) {
  const id = card.dataset.consent
  if (ended.has(id)) return
  ended.add(id)
  sending.delete(id)
  forget(card)
}

// moveOn gives the focus that a card had to what comes next. After the reader's own
// answer that is another card that waits, else the composer, where that opens no
// keyboard; after somebody else's it is the record.
export function moveOn(waits, inside) {
  for (const id of new Set([...left, inside])) {
    const card = id && document.getElementById('card-' + id), at = document.activeElement
    if (!id || card?.matches(waits)) continue
    const mine = left.delete(id)
    if (at && at !== document.body && !card?.contains(at)) continue
    const next = mine && document.querySelector(waits), record = card?.querySelector('summary'), prompt = document.getElementById('prompt')
    const to = next || (mine && !matchMedia('(pointer: coarse)').matches && prompt) || record || document.getElementById('main')
    to?.focus({ preventScroll: !next })
  }
}
