// Where the reader is in the transcript. The page follows new text only while
// the reader is at the end; the least upward scroll lets go. A card that waits
// there and does not fit is shown from its top, and then stays where it is: its
// buttons must not move away under a finger.

import { on } from './act.js'
import { fragment } from './api.js'
import { parse, wire } from './ops.js'
import { failed } from './toast.js'

const near = 60, far = 200 // px from the end: hide the button below, show it above
const log = document.getElementById('log')
const still = matchMedia('(prefers-reduced-motion: reduce)')

const margin = 24 // px above a question that was just sent, and above a card

let box, pinned = true, last = 0, height = 0
let away = false // so far from the end that the button is wanted
let shown, place // the tall card that the reader knows; the position of its top, if the page went there
let waiting = false, before, asked // a turn was sent; the last one then; the one that has room

export function start() {
  if (!log) return
  box = scroller(log)
  const pane = box === document.scrollingElement ? document : box
  pane.addEventListener('scroll', moved, { passive: true })
  const sizes = new ResizeObserver(grown)
  for (const el of [box, log]) sizes.observe(el)
  document.addEventListener('lembas:frame', grown)
  document.addEventListener('lembas:sent', e => {
    waiting = e.detail
    if (waiting) before = lastTurn()
  })
  addEventListener('hashchange', () => toHash())
  older()
  opened()
}

export const atEnd = () => !log || gap() < near || (!!shown && shown === tall() && atTop())

function scroller(el) {
  for (; el && el !== document.body; el = el.parentElement) {
    if (/auto|scroll/.test(getComputedStyle(el).overflowY)) return el
  }
  return document.scrollingElement
}

const gap = () => box.scrollHeight - box.scrollTop - box.clientHeight
const waits = '[data-consent][data-state=waiting]'
// Who is in a card opens and closes boxes there: that must not move it away.
const inCard = () => document.activeElement?.closest(waits)
const follows = () => document.body.dataset.follow !== 'off'
const atTop = () => Math.abs(box.scrollTop - place) < 2
const edges = () => box === document.scrollingElement ? { top: 0, bottom: innerHeight } : box.getBoundingClientRect()

const topOf = card => Math.max(0, Math.floor(box.scrollTop + card.getBoundingClientRect().top - edges().top - margin))

// tall is the first card that waits at the end, if the end would hide its top.
function tall() {
  const card = [...log.lastElementChild?.querySelectorAll('[id^="cards-"]') || []].pop()?.querySelector(waits)
  return card && topOf(card) < box.scrollHeight - box.clientHeight ? card : null
}

async function opened() {
  if (location.hash.startsWith('#m-') && await toHash()) return
  end()
}

// toHash goes to a message, loading older ones until it is there.
async function toHash() {
  const id = decodeURIComponent(location.hash.slice(1))
  if (!id.startsWith('m-')) return false
  pinned = false
  for (let pages = 0; !document.getElementById(id) && pages < 50 && document.getElementById('older'); pages++) await loadOlder()
  const el = document.getElementById(id)
  if (!el) return false
  el.scrollIntoView()
  el.setAttribute('data-target', '')
  jumpButton()
  return true
}

// end goes to the end, or to the top of the card that waits there.
function end() {
  shown = tall()
  go(shown ? place = topOf(shown) : box.scrollHeight)
}

function go(to, smooth) {
  pinned = true
  box.scrollTo({ top: to, behavior: smooth && !still.matches ? 'smooth' : 'instant' })
  last = box.scrollTop
  jumpButton()
}

// jump goes down only: from the top of such a card on to its end.
function jump() {
  const card = tall(), to = card && topOf(card)
  known(card)
  if (!card || box.scrollTop > to - near) go(box.scrollHeight, true)
  else go(place = to, true)
}

function known(card) {
  shown = card
  place = undefined
}

// follow leaves the reader of a card that they know where they are in it.
function follow() {
  const card = tall()
  if (!card || card !== shown || atTop()) end()
}

// moved tells the reader's scroll from the page's own: only the former goes up
// while nothing has shrunk.
function moved() {
  const at = box.scrollTop
  if (at < last - 1 && box.scrollHeight >= height) pinned = false
  else if (gap() < near) {
    if (!pinned) known(tall()) // the reader came past it
    pinned = true
  }
  last = at
  height = box.scrollHeight
  jumpButton()
  if (atEnd()) document.dispatchEvent(new CustomEvent('lembas:end'))
}

function grown() {
  // The reader may have scrolled in this same frame, before the event says so.
  if (box.scrollTop < last - 1 && box.scrollHeight >= height) pinned = false
  makeRoom()
  const card = inCard()
  if (card && card !== shown && card === tall()) known(card)
  if (pinned && follows() && !card) follow()
  height = box.scrollHeight
  jumpButton()
}

function jumpButton() {
  const button = document.getElementById('jump'), g = gap()
  if (g > far) away = true
  else if (g < near) away = false
  if (button) button.hidden = !away || asking()
}

// asking: a control of a card that waits is in view. The button would lie over it.
function asking() {
  const { top, bottom } = edges()
  return [...log.querySelectorAll(waits)].some(card => [...card.querySelectorAll('button, label, textarea')].some(el => {
    const r = el.getBoundingClientRect()
    return r.height > 0 && r.bottom > top && r.top < bottom
  }))
}

// makeRoom leaves space (#room) under a question that was just sent, so that it stands
// near the top and the answer grows into the room below it.
function makeRoom() {
  const turn = lastTurn()
  if (waiting && turn && turn !== before) {
    waiting = false
    asked = turn
    pinned = true
  }
  if (!asked) return
  const space = document.getElementById('room')
  if (!space || !asked.isConnected) return
  const used = space.getBoundingClientRect().top - asked.getBoundingClientRect().top
  const room = Math.max(0, box.clientHeight - used - margin)
  space.style.height = room + 'px'
  if (pinned && !follows() && room > 0) end()
}

const lastTurn = () => [...log.querySelectorAll(':scope > [data-role=user]')].pop()

// older loads earlier messages when the reader comes near the top, or presses
// the button. htmx, which the button names for pages without this script, would
// not keep the reader's place.
let top
function older() {
  top = new IntersectionObserver(seen => seen.some(s => s.isIntersecting) && loadOlder(), {
    root: box === document.scrollingElement ? null : box, rootMargin: '600px 0px',
  })
  document.addEventListener('click', e => {
    if (!e.target.closest?.('#older')) return
    e.stopPropagation()
    loadOlder()
  }, true)
  look()
}

function look() {
  const button = document.getElementById('older')
  if (button) top.observe(button)
}

let loading = null
function loadOlder() {
  return loading ??= earlier().catch(failed).finally(() => { loading = null })
}

// earlier puts the page before in, while what the reader sees stays in place.
async function earlier() {
  const button = document.getElementById('older')
  if (!button) return
  top.disconnect()
  const fresh = parse(await fragment(button.getAttribute('hx-get'))), els = [...fresh.children]
  const anchor = [...log.querySelectorAll(':scope > [data-message]')].find(m => m.getBoundingClientRect().bottom > 0)
  const before = anchor?.getBoundingClientRect().top
  button.replaceWith(fresh)
  if (anchor) box.scrollTop += anchor.getBoundingClientRect().top - before
  last = box.scrollTop
  height = box.scrollHeight
  els.forEach(wire)
  look()
}

on('jump', jump)
