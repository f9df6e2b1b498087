// Where a person writes. Send and Stop are one button; what was written is never lost.

import { api, uid } from './api.js'
import { on, act } from './act.js'
import { failed, toast } from './toast.js'
import { slash } from './slash.js'
import { store } from './store.js'
import { help } from './keys.js'
import { editLast } from './messages.js'
import { narrowed } from './scope.js'

const form = document.getElementById('composer')
const box = form?.querySelector('[name=text]')
const chat = document.querySelector('main[data-chat-id]')?.dataset.chatId || ''
const draft = `draft:${document.body.dataset.user}:${chat || 'new'}`
const touch = matchMedia('(pointer: coarse) and (hover: none)')

// Commands match exactly; anything else that begins with / is sent as written.
export const commands = {
  '/help': { says: 'Shortcuts and commands', run: help },
  '/new': { says: 'A new chat', run: () => location.assign('/') },
  '/stop': { says: 'Stop the reply', run: stop },
  '/compact': { says: 'Summarise the earlier turns, for the model', run: compact },
}

let composing = false, sending = false, last = null // the last failed {text, key}

export function start() {
  if (!form || !box) return
  if (!box.value) box.value = store.get(draft) || ''
  box.enterKeyHint = enterSends() ? 'send' : 'enter'
  slash(box, commands, name => command(name))
  box.addEventListener('input', typed)
  box.addEventListener('keydown', key)
  // Safari ends a composition before the keydown of the Enter that ended it.
  box.addEventListener('compositionstart', () => { composing = true })
  box.addEventListener('compositionend', () => setTimeout(() => { composing = false }))
  form.addEventListener('submit', e => { e.preventDefault(); send() })
  form.addEventListener('change', e => chat && setting(e.target))
  // A press must not take the focus away: the keyboard of a phone would fold first.
  form.addEventListener('mousedown', e => e.target.closest('#send') && e.preventDefault())
  new MutationObserver(state).observe(form, { attributes: true, subtree: true, attributeFilter: ['data-state', 'data-act', 'aria-label'] })
  typed()
}

const running = () => form.dataset.state !== 'idle' && form.dataset.state !== undefined
const enterSends = () => document.body.dataset.enter !== 'newline' && !touch.matches

function typed() {
  store.set(draft, box.value)
  grow()
  button()
}

function grow() {
  if (CSS.supports('field-sizing', 'content')) return
  box.style.height = 'auto'
  box.style.height = Math.min(box.scrollHeight, innerHeight * 0.4) + 'px'
}

// state follows what the stream says of the chat: the button, and what the empty
// box invites to.
function state() {
  button()
  const words = form.dataset.state === 'waiting' ? box.dataset.waiting : box.dataset.idle
  if (words && box.placeholder !== words) box.placeholder = words
}

// button is Stop while something runs and nothing is written, else Send.
function button() {
  const el = document.getElementById('send')
  if (!el) return
  const stops = running() && !box.value.trim(), name = stops ? 'stop' : 'send'
  const set = (node, k, v) => node && node.getAttribute(k) !== v && node.setAttribute(k, v)
  set(el, 'data-act', name)
  set(el.querySelector('use'), 'href', '#i-' + name)
  if (el.ariaDisabled === 'true' && !stops) return
  set(el, 'aria-label', stops ? 'Stop the reply' : running() ? 'Queue' : 'Send')
  set(el, 'title', stops ? 'Stop (Esc)' : running() ? 'Send after the present step, or when the reply ends' : 'Send')
}

function key(e) {
  if (e.key === 'ArrowUp' && !box.value && !e.altKey && !e.shiftKey && editLast()) return e.preventDefault()
  if (e.key !== 'Enter' || e.isComposing || composing || e.keyCode === 229) return
  const always = e.ctrlKey || e.metaKey
  if (!always && (e.shiftKey || e.altKey || !enterSends())) return
  e.preventDefault()
  if (!e.repeat) send()
}

async function send() {
  const text = box.value, word = text.trim()
  if (!word || sending || refused(text)) return
  if (Object.hasOwn(commands, word)) return command(word)
  const body = word.startsWith('//') ? text.replace('/', '') : text
  const key = last?.text === text ? last.key : uid()
  try {
    await (chat ? message(text, body, key) : create(body, key))
    last = null
  } catch (err) {
    last = { text, key } // it may have arrived: the same key makes a repeat harmless
    if (chat) fill(box.value.trim() ? text + '\n\n' + box.value : text)
    failed(err, send)
  }
}

async function command(name) {
  fill('')
  try {
    await commands[name].run()
  } catch (err) {
    failed(err)
  }
}

async function compact() {
  if (chat) await api('POST', `/chats/${chat}/compact`, {})
  else toast({ kind: 'warn', text: 'There is nothing to put together yet.', key: 'refused' })
}

// refused says why nothing can be sent.
function refused(text) {
  const el = document.getElementById('send'), max = box.maxLength > 0 ? box.maxLength : 1e6
  const why = text.length > max ? `Too long: ${text.length.toLocaleString()} of ${max.toLocaleString()} characters.`
    : el?.ariaDisabled === 'true' ? el.title || 'Nothing can be sent now.' : ''
  if (why) toast({ kind: 'warn', text: why, key: 'refused' })
  return why
}

async function message(text, body, key) {
  const was = form.dataset.state
  fill('')
  store.set(draft, text) // kept until the server has it
  // Before the answer: the stream may bring the turn first, and has the last word.
  const sent = detail => document.dispatchEvent(new CustomEvent('lembas:sent', { detail }))
  sent(!running())
  if (!running()) form.dataset.state = 'running'
  try {
    const got = await api('POST', `/chats/${chat}/messages`, { text: body }, key)
    if (got?.queued) sent(false)
    if (store.get(draft) === text) store.set(draft, box.value)
  } catch (err) {
    sent(false)
    form.dataset.state = was
    throw err
  }
}

async function create(text, key) {
  const value = name => form.elements[name]?.value || undefined
  sending = box.readOnly = true
  form.setAttribute('aria-busy', 'true')
  try {
    const body = { model: value('model'), text, effort: value('effort'), folder_id: value('folder'), scope: narrowed() }
    const got = await api('POST', '/chats', body, key)
    store.set(draft, '')
    location.assign('/chat/' + got.chat_id)
  } catch (err) {
    sending = box.readOnly = false
    form.removeAttribute('aria-busy')
    throw err
  }
}

function fill(text) {
  box.value = text
  typed()
}

export async function stop() {
  if (chat) await api('POST', `/chats/${chat}/stop`, {})
}

// stopRunning stops what runs here, and says whether anything did.
export function stopRunning() {
  if (!form || !running()) return false
  stop().catch(failed)
  return true
}

export function focus() {
  box?.focus()
}

// setting changes the chat's model or effort; refused, the choice goes back.
async function setting(el) {
  if (el.name !== 'model' && el.name !== 'effort') return
  try {
    await api('PATCH', `/chats/${chat}`, { [el.name]: el.value || null })
    for (const o of el.options) o.defaultSelected = o.selected
  } catch (err) {
    for (const o of el.options) o.selected = o.defaultSelected
    failed(err)
  }
}

on('send', send)
on('stop', stop)
on('suggest', el => {
  fill(el.dataset.text)
  box.focus()
})
