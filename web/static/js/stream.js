// The page's end of the stream: finds a hub (shared worker, leading tab, own),
// registers the page's chat with the cursor it was rendered at, applies frames.

import { Hub, position } from './hub.js'
import { apply } from './ops.js'
import { uid, login } from './api.js'

const body = document.body
const quietFor = 5000 // ms that a shared hub may take to answer a check

// Ways to reach a hub, best first. Each returns {post(message), close()} or null.
const ways = [shared, led, alone]

let way, hub, was, events = 0, asked = 0, answered = 0
const seen = {}

export function start() {
  const cursor = body.dataset.cursor
  if (!cursor) return
  seen[''] = position(cursor)
  const chat = document.querySelector('main[data-chat-id]')?.dataset.chatId
  if (chat) seen[chat] = seen['']
  next()
  addEventListener('pagehide', () => hub.post({ t: 'bye' }))
  addEventListener('pageshow', e => e.persisted && hello())
  addEventListener('online', check)
  addEventListener('offline', () => show('lost'))
  document.addEventListener('visibilitychange', () => document.hidden || check())
}

// next takes the best way that is left.
function next() {
  hub?.close()
  hub = null
  while (!hub) hub = (way = ways.shift())(receive)
  body.dataset.transport = way.name
  hello()
}

function hello() {
  hub.post({ t: 'hello', epoch: epoch(), seen, ping: Number(body.dataset.ping) || 10000 })
}

// check never ends a good connection: the hub looks at its line, and a hub that
// does not answer at all (its process died) is replaced.
function check() {
  const mine = ++asked
  hub.post({ t: 'check' })
  if (way !== alone) setTimeout(() => answered < mine && next(), quietFor)
}

function receive(m) {
  answered = asked
  switch (m.t) {
    case 'frame': return frame(m)
    case 'state': return show(m.state)
    case 'ping': return hub.post({ t: 'here' })
    case 'who': return hello()
    case 'reset': return reload()
    case 'out': return login()
  }
}

// frame drops what the page shows already.
function frame({ chat, id, ops }) {
  const at = position(id)
  if (!(at > (seen[chat] ?? Infinity))) return
  seen[chat] = at
  body.dataset.cursor = `${epoch()}.${Math.min(...Object.values(seen))}`
  if (was !== 'live') note(++events)
  apply(ops)
  document.dispatchEvent(new CustomEvent('lembas:frame', { detail: { chat, ops } }))
}

function show(state) {
  if (was === state) return
  was = body.dataset.connection = state
  events = 0
  if (state === 'live') body.dataset.wasLive = ''
  note(0)
}

// note says what the connection does, in the banner that is shown when it is lost,
// and when it is connecting again: body[data-was-live].
function note(n) {
  const words = document.querySelector('.banner.lost span')
  if (!words || was === 'live') return
  words.textContent = n ? `Reconnecting… catching up (${n} event${n > 1 ? 's' : ''})`
    : !navigator.onLine ? 'You are offline. What was written is safe.'
      : was === 'lost' ? 'Connection lost. Trying again; what was written is safe.' : 'Reconnecting…'
}

// reload: what is shown is not of this log any more. A second reset right after
// a reload waits, so that a confused server does not make a page that flickers.
function reload() {
  const last = Number(sessionStorage.getItem('reset') || 0), wait = Date.now() - last < 10000
  sessionStorage.setItem('reset', Date.now())
  if (!wait) return location.reload()
  show('lost')
  setTimeout(() => location.reload(), 10000)
}

function epoch() {
  return body.dataset.epoch || body.dataset.cursor.slice(0, body.dataset.cursor.lastIndexOf('.'))
}

const name = () => `lembas-${body.dataset.user || ''}`

function shared(receive) {
  if (!self.SharedWorker) return null
  try {
    const worker = new SharedWorker(new URL('./shared.js', import.meta.url), { type: 'module', name: name() })
    worker.onerror = () => hub?.port === worker.port && next()
    worker.port.onmessage = e => receive(e.data)
    return { port: worker.port, post: m => worker.port.postMessage(m), close: () => worker.port.close() }
  } catch {
    return null
  }
}

// led: whoever holds the lock runs the hub, the others reach it by a channel.
// When the leader goes, the lock passes on, and the new one asks who is there.
function led(receive) {
  if (!navigator.locks || !self.BroadcastChannel) return null
  const channel = new BroadcastChannel(name()), me = uid(), leave = new AbortController()
  let own
  channel.onmessage = ({ data: m }) => {
    if (m.to === me || m.to === '*') receive(m.m)
    else if (own && m.to === 'hub') own.receive(m.from, d => channel.postMessage({ to: m.from, m: d }), m.m)
  }
  navigator.locks.request(name(), { signal: leave.signal }, () => {
    own = new Hub()
    channel.postMessage({ to: '*', m: { t: 'who' } })
    receive({ t: 'who' })
    return new Promise(free => { leave.signal.onabort = free })
  }).catch(() => { /* left before it was our turn */ })
  return {
    post: m => own ? own.receive(me, receive, m) : channel.postMessage({ to: 'hub', from: me, m }),
    close() {
      leave.abort()
      channel.close()
    },
  }
}

function alone(receive) {
  const own = new Hub()
  return { post: m => own.receive(0, receive, m), close() {} }
}
