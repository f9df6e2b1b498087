// Short messages in a corner, one per key. Errors and offers stay until closed.
// The markup is template#tpl-toast.

import { on } from './act.js'

const stay = { info: 6000, ok: 4000, warn: 10000 } // ms
const most = 5

// toast({kind, text, href?, key?, action?: {label, run}}) shows a message.
export function toast({ kind = 'info', text, href, key, action }) {
  const box = document.getElementById('toasts'), tpl = document.getElementById('tpl-toast')
  if (!box || !tpl || !text) return
  if (href === location.pathname && !document.hidden) return // it is before the reader's eyes
  if (kind === 'warn' && href?.startsWith('/chat/') && listed(key)) return
  const el = tpl.content.firstElementChild.cloneNode(true)
  el.dataset.kind = kind
  if (key) el.dataset.key = key
  el.setAttribute('role', kind === 'error' ? 'alert' : 'status')
  const words = el.querySelector('[data-slot=text]'), link = el.querySelector('[data-slot=link]')
  words.textContent = text
  if (link) {
    link.hidden = !href?.startsWith('/')
    if (!link.hidden) link.href = href
  }
  if (action) words.after(button(action.label, () => { el.remove(); action.run() }))
  const twin = key && [...box.children].find(t => t.dataset.key === key)
  if (twin) twin.replaceWith(el)
  else box.append(el)
  while (box.children.length > most) box.firstElementChild.remove()
  if (stay[kind] && !action) fade(el, stay[kind])
}

// listed: the card that waits is on this page, or about to be. A message would lie
// over it, also when the reader comes back to a hidden tab.
function listed(id) {
  if (location.pathname === '/waiting') return true
  const r = id && document.getElementById('card-' + id)?.getBoundingClientRect()
  return !!r && r.height > 0 && r.bottom > 0 && r.top < innerHeight
}

// failed shows what went wrong, with a way to repeat it.
export function failed(err, retry) {
  console.error(err)
  toast({ kind: 'error', text: err.message || 'That did not work.', key: 'failed', action: retry && { label: 'Retry', run: retry } })
}

// fade waits while the pointer or the focus is on the message.
function fade(el, after) {
  setTimeout(() => el.matches(':hover, :focus-within') ? fade(el, 1000) : el.remove(), after)
}

function button(label, run) {
  const b = document.createElement('button')
  b.type = 'button'
  b.className = 'button small'
  b.textContent = label
  b.addEventListener('click', run)
  return b
}

on('close-toast', el => el.closest('.toast').remove())
