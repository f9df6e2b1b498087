// Cards that wait for a person's word. What is chosen, edited or written on one
// stays until the server has the answer; how an answered card looks comes by the
// stream alone.

import { on } from './act.js'
import { say } from './announce.js'
import { draft, part, keep, forget } from './draft.js'
import { answer, busy, done, fault, moveOn, send, unlike } from './answer.js'

const waits = '[data-consent][data-state=waiting]'
export const cardOf = el => el?.closest?.(waits)
export const itemsOf = card => [...card.querySelectorAll('[data-item]')]
// about is the item that a control is about, null when it is about all of them.
export const about = el => el.closest('[data-slot=all]') ? null : el.closest('[data-item]')
const slot = (host, name) => host?.querySelector(`:scope > [data-slot=${name}]`)
const hostOf = (card, item) => item || card.querySelector('[data-slot=all]')
const many = card => itemsOf(card).length > 1
// asks says that an item is a question; a card may have both kinds.
export const asks = item => !!item.querySelector('[data-slot=text]')

export function start() {
  for (const event of ['lembas:frame', 'lembas:fetched', 'htmx:after:swap']) document.addEventListener(event, show)
  document.addEventListener('input', written)
  document.addEventListener('change', written)
  document.addEventListener('focusin', e => { inside = cardOf(e.target)?.dataset.consent })
  document.addEventListener('click', e => {
    const el = e.target.closest?.('[data-verdict]:not([data-act])'), card = cardOf(el)
    if (card && !e.defaultPrevented) verdict(card, about(el), el.dataset.verdict)
  })
  show()
}

// show brings every card to what its draft says: after a load, and after each
// change of the page, because the stream knows nothing of drafts.
let known, inside // the cards on the page of what waits; the one that has the focus
function show() {
  for (const card of document.querySelectorAll('[data-consent]')) card.matches(waits) ? mark(card) : done(card)
  moveOn(waits, inside)
  const ids = [...document.querySelectorAll(`#waiting-list ${waits}`)].map(el => el.id)
  if (known && ids.some(id => !known.includes(id))) say('Another card waits for you.', true)
  known = ids
}

const set = (el, name, value) => {
  if (!el) return
  if (value === undefined) el.removeAttribute(name)
  else if (el.getAttribute(name) !== value) el.setAttribute(name, value)
}

function mark(card) {
  const wait = busy(card) ? 'true' : undefined
  for (const item of itemsOf(card)) {
    const mine = part(card, item)
    item.toggleAttribute('data-editing', !!mine.editing)
    fold(item, 'edit', mine.editing, mine.edit)
    fold(item, 'deny', mine.denying, mine.reason)
    set(item, 'data-chosen', mine.verdict)
    for (const b of item.querySelectorAll('[data-verdict]:not([data-act])')) if (many(card)) set(b, 'aria-pressed', String(b.dataset.verdict === mine.verdict))
    if (asks(item)) put(item, mine)
  }
  const all = part(card, null), left = itemsOf(card).filter(i => !settled(card, i)).length, n = itemsOf(card).length
  fold(hostOf(card, null), 'deny', all.denying, all.reason)
  const count = card.querySelector('[data-slot=count]')
  if (count) count.textContent = left ? `${n - left} of ${n} decided` : ''
  if (!left && hints.includes(card.querySelector('[data-slot=error]')?.textContent)) fault(card, '')
  set(card, 'aria-busy', wait)
  for (const item of itemsOf(card)) {
    const b = item.querySelector('[data-verdict=always]') // what it remembers is of what was asked
    if (b) b.disabled = unlike(card, item)
  }
  for (const b of card.querySelectorAll('button')) set(b, 'aria-disabled', b.matches('[data-act=card-send]') && left ? 'true' : wait)
}

// fold shows or hides the box of an edit or of a reason, with what is written in it.
function fold(host, name, open, text) {
  const box = slot(host, name)
  if (!box) return
  box.hidden = !open
  const area = box.querySelector('textarea')
  if (open && text !== undefined && area.value !== text) area.value = text
  for (const b of host.querySelectorAll(name === 'edit' ? '[data-act=card-edit]' : '[aria-expanded][data-verdict=deny]')) set(b, 'aria-expanded', String(!!open))
}

// put brings an answer that was begun back into its fields.
function put(item, { text, option }) {
  const area = item.querySelector('[data-slot=text]')
  if (text !== undefined && area && area.value !== text) area.value = text
  if (option !== undefined) for (const r of item.querySelectorAll('[type=radio]')) r.checked = r.dataset.slot === 'other' ? option === null : r.value === option && option !== null
}

// written keeps what a person writes or chooses. Own words choose themselves.
function written(e) {
  const card = cardOf(e.target), item = card && about(e.target), what = e.target.dataset?.slot
  if (!card) return
  const mine = part(card, item)
  if (what === 'argument') mine.edit = e.target.value
  else if (what === 'reason') mine.reason = e.target.value
  else if (what === 'text') {
    mine.text = e.target.value
    if (item.querySelector('[data-slot=other]') && mine.text) mine.option = null
  } else if (e.target.type === 'radio') mine.option = what === 'other' ? null : e.target.value
  else return
  changed(card)
}

function changed(card, focus) {
  keep(card)
  mark(card)
  focus?.focus({ preventScroll: true })
  reveal(focus)
}

// reveal brings the box that has the focus into view with all its buttons, and
// with those below it that answer, as far as there is room.
function reveal(el) {
  const box = el?.closest('[data-slot=edit], [data-slot=deny]'), acts = [...box?.parentElement.children || []].filter(e => e.matches('.card-acts')).pop()
  for (const part of [acts, box || el]) part?.scrollIntoView({ block: 'nearest' })
}

// reply is a question's answer as it stands, '' while there is none.
export function reply(card, item) {
  const { text = '', option } = part(card, item)
  return item.querySelector('[type=radio]') && typeof option === 'string' ? option : text.trim()
}

const hints = ['Answer each question, or choose not to answer.', 'Decide each call first, or all at once.']
const settled = (card, item) => asks(item) ? reply(card, item) : part(card, item).verdict

// verdict is a press on Allow, Always or Deny… of one item, or of all.
function verdict(card, item, v) {
  if (busy(card)) return
  fault(card, '')
  const mine = part(card, item)
  if (v === 'deny') {
    mine.denying = true
    return changed(card, slot(hostOf(card, item), 'deny')?.querySelector('textarea'))
  }
  decide(card, item, v)
}

// decide sends at once where one press decides all, else it is noted until Send.
function decide(card, item, v) {
  const mine = part(card, item)
  if (!item || !many(card)) return send(card, itemsOf(card).map(i => answer(card, i, v, mine.reason)))
  if (v !== 'deny') mine.denying = false
  mine.verdict = mine.verdict === v && v !== 'deny' ? undefined : v
  changed(card)
}

on('card-deny', el => {
  const card = cardOf(el)
  if (!card || busy(card)) return
  decide(card, about(el), 'deny')
  if (!busy(card)) next(card)
})

// card-keep takes a refusal back.
on('card-keep', el => {
  const card = cardOf(el), item = about(el), mine = part(card, item)
  Object.assign(mine, { denying: false, reason: undefined, verdict: mine.verdict === 'deny' ? undefined : mine.verdict })
  changed(card, hostOf(card, item).querySelector('[aria-expanded][data-verdict=deny], [data-verdict=deny]'))
})

on('card-edit', el => {
  const card = cardOf(el), item = about(el), area = item.querySelector('[data-slot=argument]')
  if (busy(card)) return
  const mine = part(card, item)
  Object.assign(mine, { editing: true, edit: mine.edit ?? area.value })
  changed(card, area)
})

on('card-unedit', el => {
  const card = cardOf(el), item = about(el), area = item.querySelector('[data-slot=argument]')
  area.value = area.defaultValue
  Object.assign(part(card, item), { editing: false, edit: undefined })
  changed(card, item.querySelector('[data-act=card-edit]'))
})

on('card-send', el => {
  const card = cardOf(el)
  if (!card || busy(card)) return
  const open = next(card)
  if (open) return fault(card, asks(open) ? hints[0] : hints[1])
  send(card, itemsOf(card).map(i => asks(i) ? { key: i.dataset.item, verdict: 'allow', text: reply(card, i) } : answer(card, i, part(card, i).verdict, part(card, i).reason)))
})

// next goes to the first item that is open and gives it; to Send when none is.
export function next(card) {
  const open = itemsOf(card).find(i => !settled(card, i))
  const to = open ? open.querySelector(asks(open) ? '[type=radio], textarea' : '[data-verdict]') : card.querySelector('[data-act=card-send]')
  to?.focus()
  return open
}
