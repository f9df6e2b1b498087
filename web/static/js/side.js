// The sidebar as a box: open or closed, how wide, and the drawer of a phone.

import { on } from './act.js'
import { store } from './store.js'

const body = document.body, phone = matchMedia('(max-width: 48rem)')
const least = 200, most = 480 // px
const side = document.getElementById('side')

export function start() {
  if (!side) return
  phone.addEventListener('change', restore)
  restore()
  grip(document.getElementById('side-grip'))
  swipe()
  document.addEventListener('keydown', e => {
    if (e.key === 'Escape' && phone.matches && isOpen() && !e.defaultPrevented) {
      e.preventDefault()
      set(false)
    }
  }, true)
}

const isOpen = () => body.dataset.side !== 'closed'

function restore() {
  set(!phone.matches && store.get('side') !== 'closed', false)
}

// set opens or closes; an open drawer takes the focus and shuts the page behind it off.
function set(open, moveFocus = true) {
  body.dataset.side = open ? 'open' : 'closed'
  for (const el of document.querySelectorAll('[data-act=toggle-sidebar]')) el.setAttribute('aria-expanded', open)
  document.querySelector('main')?.toggleAttribute('inert', open && phone.matches)
  side.toggleAttribute('inert', !open)
  if (!phone.matches) store.set('side', open ? '' : 'closed')
  if (!moveFocus) return
  const first = open ? side.querySelector('a, button, input') : document.querySelector('main [data-act=toggle-sidebar]')
  if (phone.matches) first?.focus()
}

// grip resizes by pointer and by arrow keys.
function grip(el) {
  if (!el) return
  const width = px => {
    px = Math.round(Math.max(least, Math.min(most, px)))
    document.documentElement.style.setProperty('--sidebar-w', px + 'px')
    el.setAttribute('aria-valuenow', px)
    store.set('width', px)
  }
  el.setAttribute('aria-valuemin', least)
  el.setAttribute('aria-valuemax', most)
  if (store.get('width')) width(Number(store.get('width')))
  el.addEventListener('pointerdown', e => {
    e.preventDefault()
    el.setPointerCapture(e.pointerId)
    const move = m => width(m.clientX - side.getBoundingClientRect().left)
    el.addEventListener('pointermove', move)
    el.addEventListener('lostpointercapture', () => el.removeEventListener('pointermove', move), { once: true })
  })
  el.addEventListener('keydown', e => {
    const step = { ArrowLeft: -16, ArrowRight: 16 }[e.key]
    if (!step) return
    e.preventDefault()
    width(side.offsetWidth + step)
  })
}

// swipe: from the left edge it opens the drawer, to the left it closes it.
function swipe() {
  let x, y, from
  document.addEventListener('touchstart', e => {
    ;({ clientX: x, clientY: y } = e.touches[0])
    from = phone.matches && e.touches.length === 1 && (isOpen() ? 'open' : x < 32 && 'edge')
  }, { passive: true })
  document.addEventListener('touchend', e => {
    const dx = e.changedTouches[0].clientX - x, dy = e.changedTouches[0].clientY - y
    if (!from || Math.abs(dx) < 60 || Math.abs(dy) > Math.abs(dx) / 2) return
    if (from === 'edge' && dx > 0) set(true)
    else if (from === 'open' && dx < 0) set(false)
  }, { passive: true })
}

on('toggle-sidebar', () => set(!isOpen()))
