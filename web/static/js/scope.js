// The scope menu: which tools this chat may use. It only narrows. A new chat has
// no row yet: what is chosen travels with its first message.

import { api, fragment } from './api.js'
import { on } from './act.js'
import { morph } from './morph.js'
import { parse } from './ops.js'
import { failed } from './toast.js'

const chat = document.querySelector('main[data-chat-id]')?.dataset.chatId || ''
const switches = () => [...document.querySelectorAll('#scope [data-scope]')]

const chosen = new Set() // off in a new chat, also what its present model does not have

// off is every key that is switched off, also of tools that cannot be on now.
const off = () => chat ? switches().filter(el => el.disabled ? 'off' in el.dataset : !el.checked).map(el => el.dataset.scope) : [...chosen]

// narrowed is the scope as it is sent, undefined when nothing is switched off.
export function narrowed() {
  const keys = off()
  return keys.length ? Object.fromEntries(keys.map(k => [k, false])) : undefined
}

export function start() {
  document.addEventListener('change', e => {
    if (e.target.matches?.('#scope [data-scope]')) switched(e.target)
    else if (!chat && e.target.matches?.('#composer [name=model]')) again().catch(failed)
  })
  // Enter would send the message.
  document.addEventListener('keydown', e => {
    if (e.key !== 'Enter' || !e.target.matches?.('#scope [data-scope]')) return
    e.preventDefault()
    if (!e.repeat) e.target.click()
  })
  document.addEventListener('lembas:fetched', e => e.detail === 'scope' && settle())
}

let pending = 0, queue = Promise.resolve()

// switched sends one change after the other: each has all that is off then.
function switched(el) {
  if (!chat) {
    chosen[el.checked ? 'delete' : 'add'](el.dataset.scope)
    return again().catch(failed)
  }
  pending++
  queue = queue.then(() => api('PATCH', '/chats/' + chat, { scope: narrowed() || {} })).catch(err => {
    el.checked = !el.checked
    failed(err)
  }).finally(() => { pending-- })
}

// settle: what the server says counts, but for what is on its way to it.
function settle() {
  if (!pending) for (const el of switches()) el.checked = el.defaultChecked
}

// again renders a new chat's menu for its model and what is switched off.
let turn = 0
async function again() {
  const mine = ++turn, now = document.getElementById('scope')
  if (!now) return
  const query = new URLSearchParams({ model: document.querySelector('#composer [name=model]')?.value || '' })
  for (const key of off()) query.append('off', key)
  const fresh = parse(await fragment('/scope?' + query)).firstElementChild
  if (mine !== turn || fresh?.id !== 'scope') return
  morph(now, fresh)
  settle()
}

on('clear-allow', () => api('PATCH', '/chats/' + chat, { allow: [] }))
