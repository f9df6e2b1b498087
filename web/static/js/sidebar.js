// The list of chats: its actions, its filter, and when a chat counts as seen.

import { api } from './api.js'
import { on } from './act.js'
import { ask } from './dialog.js'
import { atEnd } from './scroll.js'
import { failed } from './toast.js'

const chat = document.querySelector('main[data-chat-id]')?.dataset.chatId
const row = id => document.getElementById('c-' + id)
const folder = id => document.getElementById('f-' + id)
const name = el => el?.querySelector('.row-title')?.textContent.trim() || ''
const titleOf = id => name(row(id)) || document.getElementById('chat-title')?.textContent.trim() || 'this chat'

export function start() {
  document.addEventListener('lembas:frame', e => {
    if (!e.detail.chat) refreshed()
  })
  document.addEventListener('lembas:end', look)
  document.addEventListener('visibilitychange', look)
  document.getElementById('side-filter')?.addEventListener('input', filter)
  document.getElementById('chat-menu')?.addEventListener('beforetoggle', e => {
    const pin = e.target.querySelector('[data-act=pin-chat]')
    if (pin) pin.lastChild.data = row(pin.dataset.id)?.hasAttribute('data-pinned') ? 'Unpin' : 'Pin'
  })
  document.addEventListener('htmx:after:swap', filter)
  refreshed()
}

// refreshed: the server's rows know neither which page this is nor the filter.
function refreshed() {
  if (chat) row(chat)?.querySelector('a')?.setAttribute('aria-current', 'page')
  filter()
  look()
}

// look tells the server that the reader has seen the end of this chat.
let telling = false
function look() {
  if (!chat || telling || document.hidden || !atEnd() || !row(chat)?.hasAttribute('data-unread')) return
  telling = true
  api('POST', `/chats/${chat}/seen`, {}).catch(() => {}).finally(() => { telling = false })
}

function filter() {
  const box = document.getElementById('side-filter'), tree = document.getElementById('side-tree')
  if (!box || !tree) return
  const words = box.value.toLowerCase().split(/\s+/).filter(Boolean)
  if (!words.length && !tree.hasAttribute('data-filtered')) return
  tree.toggleAttribute('data-filtered', words.length > 0)
  for (const el of tree.querySelectorAll('[data-chat]')) {
    const title = name(el).toLowerCase()
    out(el, words.every(w => title.includes(w)))
  }
  // A group or folder without a row that is shown goes too; one with a hit opens meanwhile.
  let any = false
  for (const el of tree.querySelectorAll('.folder, .group')) {
    const hit = !words.length || !!el.querySelector('[data-chat]:not([data-out])'), fold = el.querySelector(':scope > details')
    out(el, hit)
    any ||= hit
    if (!fold) continue
    if (words.length && !fold.open) fold.open = fold.dataset.opened = true
    else if (!words.length && fold.dataset.opened) fold.open = !delete fold.dataset.opened
  }
  const none = tree.querySelector('.tree-none')
  if (none) none.hidden = any || !words.length
}

// out hides by an attribute of our own, which a swap may drop: filter runs again.
const out = (el, shown) => el.toggleAttribute('data-out', !shown)

// folders lists [id, name] with its depth, without `except` and what is in it.
function folders(except) {
  const all = [...document.querySelectorAll('#side-tree [id^=f-]')].filter(el => !el.closest(except ? `#${CSS.escape('f-' + except)}` : 'x-none'))
  return [['', except ? 'The top' : 'No folder'], ...all.map(el => {
    let depth = 0
    for (let p = el.parentElement.closest('[id^=f-]'); p; p = p.parentElement.closest('[id^=f-]')) depth++
    return [el.id.slice(2), '\u2003'.repeat(depth) + name(el)]
  })]
}

const patchChat = (id, body) => api('PATCH', '/chats/' + id, body)
const patchFolder = (id, body) => api('PATCH', '/folders/' + id, body)

// inline puts a box in the place of a name; Enter saves, Esc and leaving it do not lose the name.
function inline(host, old, save) {
  if (!host) return false
  const box = document.createElement('input'), back = document.activeElement
  box.value = old
  box.className = 'rename'
  box.maxLength = 200
  box.dataset.keep = ''
  box.setAttribute('aria-label', 'New name')
  host.style.display = 'none'
  host.after(box)
  box.focus()
  box.select()
  let done = false
  const end = async keep => {
    if (done) return
    done = true
    const value = box.value.trim()
    box.remove()
    host.style.display = ''
    if (back?.isConnected) back.focus()
    if (keep && value && value !== old) await save(value).catch(failed)
  }
  box.addEventListener('keydown', e => {
    if (e.isComposing) return
    if (e.key === 'Enter' || e.key === 'Escape') {
      e.preventDefault()
      e.stopPropagation()
      end(e.key === 'Enter')
    }
  })
  box.addEventListener('blur', () => end(true))
  return true
}

on('rename-chat', async (el, id) => {
  const save = title => patchChat(id, { title })
  const head = el.closest('header') && id === chat && document.getElementById('chat-title')
  const link = row(id)?.querySelector('a'), old = titleOf(id)
  if (inline(head || (link?.offsetParent && !link.closest('[inert]') && link), old, save)) return
  const title = await ask({ title: 'Rename chat', label: 'Title', value: old, ok: 'Rename' })
  if (title) await save(title)
})

on('pin-chat', (_, id) => patchChat(id, { pinned: !row(id)?.hasAttribute('data-pinned') }))

on('move-chat', async (_, id) => {
  const to = await ask({ title: 'Move to a folder', text: titleOf(id), label: 'Folder', choices: folders(), chosen: row(id)?.dataset.folder, ok: 'Move' })
  if (to !== null) await patchChat(id, { folder_id: to || null })
})

on('delete-chat', async (_, id) => {
  const yes = await ask({ title: 'Delete this chat?', text: `“${titleOf(id)}” and everything in it is erased. This cannot be undone.`, ok: 'Delete', danger: true })
  if (!yes) return
  await api('DELETE', '/chats/' + id)
  if (id === chat) location.assign('/')
})

on('new-chat-in', (_, id) => location.assign('/?folder=' + encodeURIComponent(id)))

on('new-folder', async (_, id) => {
  const title = await ask({ title: 'New folder', label: 'Name', value: '', ok: 'Create' })
  if (!title) return
  await api('POST', '/folders', { name: title, parent_id: id || undefined })
  const outer = folder(id)
  if (!outer) return
  outer.setAttribute('data-local', '')
  outer.open = true // the new one is to be seen
})

on('rename-folder', async (_, id) => {
  const title = await ask({ title: 'Rename folder', label: 'Name', value: name(folder(id)), ok: 'Rename' })
  if (title) await patchFolder(id, { name: title })
})

on('move-folder', async (_, id) => {
  const to = await ask({ title: 'Move folder', text: name(folder(id)), label: 'Into', choices: folders(id), chosen: folder(id)?.dataset.parent, ok: 'Move' })
  if (to !== null) await patchFolder(id, { parent_id: to || null })
})

on('delete-folder', async (_, id) => {
  const yes = await ask({ title: 'Delete this folder?', text: `“${name(folder(id))}” goes. Its chats stay.`, ok: 'Delete', danger: true })
  if (yes) await api('DELETE', '/folders/' + id)
})

// neighbour goes to the chat above (-1) or below (1) in the list as shown.
export function neighbour(step) {
  const links = [...document.querySelectorAll('#side-tree [data-chat]:not([data-out]) a')]
  const at = links.findIndex(a => a.getAttribute('aria-current') === 'page')
  const to = at < 0 ? links[step > 0 ? 0 : links.length - 1] : links[at + step]
  if (to) location.assign(to.href)
}

// Drag and drop: a chat or a folder onto a folder, or onto the list to take it out.
let dragged = null
const target = e => e.target.closest?.('[id^=f-], #side-tree')

document.addEventListener('dragstart', e => {
  const el = e.target.closest?.('#side-tree [data-chat], #side-tree [id^=f-]')
  dragged = el?.querySelector(':scope > [data-keep]') ? null : el
  if (!el) return
  if (!dragged) return e.preventDefault() // its name is being edited
  e.dataTransfer.effectAllowed = 'move'
  e.dataTransfer.setData('text/plain', name(el))
})

document.addEventListener('dragover', e => {
  const to = dragged && target(e)
  mark(to && !dragged.contains(to) ? to : null)
  if (marked) e.preventDefault()
})

document.addEventListener('drop', e => {
  const to = marked, el = dragged
  if (!to || !el) return
  e.preventDefault()
  const into = to.id.startsWith('f-') ? to.id.slice(2) : null
  const move = el.dataset.chat ? patchChat(el.dataset.chat, { folder_id: into }) : patchFolder(el.id.slice(2), { parent_id: into })
  move.catch(failed)
})

document.addEventListener('dragend', () => {
  dragged = null
  mark(null)
})

let marked = null
function mark(el) {
  if (marked === el) return
  marked?.removeAttribute('data-drop')
  marked = el
  el?.setAttribute('data-drop', '')
}
