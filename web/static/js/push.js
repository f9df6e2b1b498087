// Notifications in this browser that a card waits: the switch of the settings,
// and what it remembers. With a push service they come also while no page is
// open; without one, from an open page that is not looked at (notify.js).

import { api } from './api.js'
import { store } from './store.js'
import { toast } from './toast.js'

const patience = 20000 // ms for the browser's push service
const key = () => 'push:' + document.body.dataset.user
const box = () => document.getElementById('push-here')
const listed = () => document.getElementById('pushes')?.dataset.this

// told says how this browser is told: 'push', 'page', or null for not at all.
export function told() {
  return self.Notification?.permission === 'granted' ? store.get(key()) : null
}

export function start() {
  look()
  document.addEventListener('change', e => { if (e.target === box()) flip(e.target.checked) })
  document.addEventListener('htmx:after:swap', () => { if (list !== document.getElementById('pushes')) look() })
  navigator.permissions?.query({ name: 'notifications' }).then(p => { p.onchange = look }, () => { /* not told of changes */ })
  ended()
}

// why is the state of a browser that cannot, with its reason; null when it can.
function why() {
  if (!self.isSecureContext) return ['unsupported', 'Browsers allow notifications only over https or on localhost, and this page came over plain http.']
  if (!self.Notification) return ['unsupported', 'This browser has no notifications. On an iPhone or iPad, add LLeMbas to the Home Screen and open it from there.']
  if (Notification.permission === 'denied') return ['denied', 'This browser blocks notifications of this site. Allow them in its settings for the site, at the left of the address; then this switch works.']
  return null
}

let busy = false, list

// look shows how it stands. What was removed from the list is given up here, too.
async function look() {
  if (!box() || busy) return
  list = document.getElementById('pushes')
  const no = why()
  if (no) return show(...no)
  if (told() === 'page') return show('page', words.page)
  const sub = await subscription()
  if (busy) return
  if (told() === 'push' && sub && listed()) return show('on', words.on)
  store.set(key(), null)
  sub?.unsubscribe()
  show('off', words.off)
}

const words = {
  off: 'Off. Nothing is sent to this browser.',
  on: 'On until you sign out, also while no page of LLeMbas is open. The browser’s push service learns when something waits, and nothing of what.',
  page: 'On while LLeMbas is open in a tab that you are not looking at.',
  asking: 'The browser asks you now …',
  reaching: 'Reaching the browser’s push service …',
}

function show(state, text) {
  const input = box(), line = document.getElementById('push-state')
  if (!input || !line) return
  line.dataset.state = state
  if (line.textContent !== text) line.textContent = text
  input.checked = state === 'on' || state === 'page' || state === 'asking'
  input.disabled = state === 'unsupported' || state === 'denied' || state === 'asking'
}

async function flip(on) {
  busy = true
  const had = listed()
  let state, text
  try {
    [state, text] = await (on ? turnOn() : turnOff())
  } catch (err) {
    store.set(key(), null)
    state = 'error'
    text = `That did not work: ${err.message}`
  }
  busy = false
  show(state, text)
  if (document.activeElement === document.body) box()?.focus() // it lost the focus while it was disabled
  if (state !== 'error' && (had || state === 'on')) document.getElementById('pushes')?.dispatchEvent(new Event('pushes'))
}

async function turnOn() {
  show('asking', words.asking)
  const answer = await Notification.requestPermission()
  if (answer === 'denied') return why()
  if (answer !== 'granted') return ['off', 'Off. The browser asked, and got no answer.']
  show('asking', words.reaching)
  const worker = await ready()
  if (!worker?.pushManager) return page('this browser has no push service')
  const { public_key } = await api('GET', '/push')
  if (!public_key) return page('the server has no key for it at present')
  let sub
  try {
    sub = await subscribe(worker, public_key)
  } catch (err) {
    return page(`its push service gave an error (${err.message})`)
  }
  const { endpoint, keys } = sub.toJSON()
  try {
    await api('POST', '/push', { endpoint, keys })
  } catch (err) {
    sub.unsubscribe()
    throw err
  }
  store.set(key(), 'push')
  return ['on', words.on]
}

function page(reason) {
  store.set(key(), 'page')
  return ['page', `${words.page} While none is open you are not told: ${reason}.`]
}

async function turnOff() {
  const id = listed(), sub = await subscription()
  store.set(key(), null)
  await sub?.unsubscribe()
  if (id) await api('DELETE', '/push/' + id).catch(err => { if (err.status !== 404) throw err })
  return ['off', words.off]
}

// subscribe gives this browser's subscription with the instance's key; one that
// was made with another key is of no use.
async function subscribe(worker, text) {
  const want = bytes(text), old = await worker.pushManager.getSubscription(), have = old?.options?.applicationServerKey
  if (old && have && String(new Uint8Array(have)) !== String(want)) await old.unsubscribe()
  return within(worker.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: want }), patience)
}

async function subscription() {
  try {
    return await (await ready())?.pushManager?.getSubscription()
  } catch {
    return null
  }
}

// ready is the service worker, null where none starts.
async function ready() {
  if (!navigator.serviceWorker) return null
  return within(navigator.serviceWorker.ready, 5000).catch(() => null)
}

function within(promise, ms) {
  return Promise.race([promise, new Promise((_, no) => setTimeout(() => no(new Error('it did not answer in time')), ms))])
}

function bytes(text) {
  const raw = atob(text.replace(/-/g, '+').replace(/_/g, '/'))
  return Uint8Array.from(raw, c => c.charCodeAt(0))
}

// ended: with the login ends what it subscribed. Once in a tab's life the page
// looks whether that happened, so that nobody relies on what is over.
async function ended() {
  if (told() !== 'push' || sessionStorage.getItem(key()) || box()) return
  sessionStorage.setItem(key(), 'looked')
  const { subscriptions } = await api('GET', '/push').catch(() => ({}))
  if (!subscriptions || subscriptions.some(s => s.this)) return
  store.set(key(), null)
  ;(await subscription())?.unsubscribe()
  toast({ kind: 'info', key: 'push', text: 'Notifications in this browser ended with your last sign-in. The settings switch them on again.', href: '/settings#notifications' })
}
