// What can be done with a message: copy, edit, ask again; and with queued ones.

import { api } from './api.js'
import { on } from './act.js'
import { copy } from './clip.js'

const chat = document.querySelector('main[data-chat-id]')?.dataset.chatId
const at = path => `/chats/${chat}${path}`
const bubble = id => document.getElementById('m-' + id)

// shown is a reply's text as the eye sees it, round by round, without our buttons.
function shown(id) {
  const parts = [...(bubble(id)?.querySelectorAll('[id^=r-] > [id^=text-]') || [])]
  const ours = parts.flatMap(el => [...el.querySelectorAll('button, figcaption')])
  for (const el of ours) el.style.display = 'none'
  const text = parts.map(el => el.innerText.trim()).filter(Boolean).join('\n\n')
  for (const el of ours) el.style.display = ''
  return text
}

// source is the Markdown as the model wrote it, or the turn as the person did.
async function source(id) {
  const el = bubble(id)
  if (el?.dataset.role === 'user') return document.getElementById('text-' + id).textContent
  const next = el?.nextElementSibling?.dataset.message
  const before = next ? `&before=${encodeURIComponent(next)}` : ''
  for (const limit of [2, 100]) {
    const { messages } = await api('GET', at(`?limit=${limit}${before}`))
    const found = messages.find(m => m.id === id)
    if (found) return found.content
  }
  return shown(id)
}

on('copy-message', async (el, id) => copy(await source(id), el))
on('copy-text', (el, id) => copy(bubble(id)?.dataset.role === 'user' ? source(id) : shown(id), el))

// The buttons that come with rendered Markdown: data-copy=code|table.
document.addEventListener('click', e => {
  const el = e.target.closest?.('[data-copy]')
  if (el?.dataset.copy === 'code') copy(el.closest('.code').querySelector('pre').textContent, el)
  else if (el?.dataset.copy === 'table') copy(csv(el.closest('.table').querySelector('table')), el)
})

// copyLast copies the latest finished reply.
export async function copyLast() {
  const all = document.querySelectorAll('#log > [data-role=assistant]:not([data-status=streaming])')
  const el = all[all.length - 1]
  if (el) copy(await source(el.dataset.message), el.querySelector('[data-act=copy-message]'))
}

// csv of a table, RFC 4180.
export function csv(table) {
  const cell = c => {
    const t = c.innerText.trim()
    return /[",\r\n]/.test(t) ? `"${t.replaceAll('"', '""')}"` : t
  }
  return table ? [...table.rows].map(r => [...r.cells].map(cell).join(',')).join('\r\n') + '\r\n' : ''
}

on('regenerate', (_, id) => api('POST', at(`/replies/${id}/regenerate`), {}))
on('retry', (_, id) => api('POST', at(`/replies/${id}/regenerate`), {}))
on('withdraw', (_, id) => api('DELETE', at(`/messages/${id}`)))
on('send-now', (_, id) => api('POST', at(`/messages/${id}/send`), {}))
on('edit-message', (_, id) => edit(bubble(id), id, text => api('POST', at(`/messages/${id}/edit`), { text })))
on('edit-queued', (_, id) => edit(document.getElementById('q-' + id), id, text => api('PATCH', at(`/messages/${id}`), { text })))
on('save-edit', el => editors.get(el.closest('[data-keep]'))?.())
on('cancel-edit', el => closeEditor(el.closest('[data-keep]')))

// editLast opens the last turn that can be edited; false when there is none.
export function editLast() {
  const all = document.querySelectorAll('#log > * [data-act=edit-message], #queue [data-act=edit-queued]')
  all[all.length - 1]?.click()
  return all.length > 0
}

const editors = new WeakMap()

// edit puts the editor into the turn. It stays, with its text, until the server took it.
function edit(host, id, save) {
  if (!host || host.querySelector(':scope > [data-keep]')) return
  const form = document.getElementById('tpl-edit').content.firstElementChild.cloneNode(true)
  const box = form.querySelector('textarea'), text = document.getElementById('text-' + id)
  let part = text
  while (part.parentElement !== host) part = part.parentElement
  if (host.id.startsWith('q-')) {
    form.querySelector('.hint')?.remove()
    form.querySelector('[data-act=save-edit]').textContent = 'Save'
  }
  form.dataset.keep = ''
  box.value = text.textContent
  editors.set(form, async () => {
    if (!box.value.trim()) return
    await save(box.value)
    closeEditor(form)
  })
  form.addEventListener('keydown', e => editorKey(e, form))
  form.addEventListener('submit', e => {
    e.preventDefault()
    form.querySelector('[data-act=save-edit]').click()
  })
  part.style.display = 'none'
  part.after(form)
  box.focus()
  box.setSelectionRange(box.value.length, box.value.length)
}

function editorKey(e, form) {
  if (e.key === 'Escape') {
    e.stopPropagation()
    closeEditor(form)
  } else if (e.key === 'Enter' && (e.ctrlKey || e.metaKey) && !e.isComposing) {
    e.preventDefault()
    form.querySelector('[data-act=save-edit]').click()
  }
}

function closeEditor(form) {
  if (!form) return
  const host = form.parentElement
  form.previousElementSibling.style.display = ''
  form.remove()
  host.querySelector('[data-act^=edit-]')?.focus()
}
