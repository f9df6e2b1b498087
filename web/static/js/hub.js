// The one connection of a browser and the tabs that live from it. The same hub
// runs in the SharedWorker, in the leading tab, or in a tab alone.
//
// From a tab: hello {epoch, seen: {CHAT: POSITION, '': POSITION}, ping}, here, check, bye.
// To a tab: frame {chat, id, ops}, state {state}, ping, reset, out, who.

import { Line } from './line.js'

const SILENT = 6 // unanswered pings after which a tab is taken for gone

export class Hub {
  constructor() {
    this.tabs = new Map()
    this.asked = new Set() // chats of the present connection
    this.position = null // of the last frame
    this.epoch = ''
    this.resume = false // the next attempt continues this connection
    this.state = 'connecting'
  }

  // receive takes one message of the tab `id`; send reaches it.
  receive(id, send, m) {
    const tab = this.tabs.get(id)
    if (m.t === 'hello') this.hello(id, send, m)
    else if (m.t === 'bye') this.leave(id)
    else if (!tab) send({ t: 'who' })
    else {
      tab.missed = 0
      if (m.t === 'check') {
        send({ t: 'state', state: this.state })
        this.line?.check()
      }
    }
  }

  hello(id, send, m) {
    if (this.epoch && this.epoch !== m.epoch) {
      // The log was restored: pages of the older epoch show what no longer is.
      for (const [other, tab] of this.tabs) if (other !== id) tab.send({ t: 'reset' })
      this.tabs.clear()
      this.position = null
    }
    this.epoch = m.epoch
    this.tabs.set(id, { send, chats: Object.keys(m.seen), missed: 0 })
    this.line ??= this.wire(m.ping)
    const from = Math.min(...Object.values(m.seen))
    const fresh = Object.keys(m.seen).some(c => !this.asked.has(c))
    send({ t: 'state', state: this.state })
    if (this.position === null || fresh || from < this.position || this.line.gone) {
      this.position = Math.min(from, this.position ?? from)
      this.restart()
    }
  }

  leave(id) {
    if (!this.tabs.delete(id) || this.tabs.size) return
    clearTimeout(this.soon)
    this.line.close()
    this.position = null
    this.asked.clear()
  }

  // restart opens the connection again for all tabs' chats; tabs that come
  // together share one. The old one closes first: a late frame of it would move
  // the position past what the new tab still needs.
  restart() {
    clearTimeout(this.soon)
    this.line.close()
    this.resume = false
    this.soon = setTimeout(() => this.line.open(() => this.target()), 10)
  }

  target() {
    this.asked = new Set([...this.tabs.values()].flatMap(t => t.chats))
    const after = `${this.epoch}.${this.position}`
    const query = new URLSearchParams({ after })
    for (const chat of this.asked) if (chat) query.append('chat', chat)
    return { url: `/events?${query}`, id: this.resume && after }
  }

  wire(ping) {
    return new Line(ping, {
      event: e => this.event(e),
      state: s => this.tell(s),
      out: () => this.all({ t: 'out' }),
    })
  }

  event({ event, id, data }) {
    let body
    try { body = JSON.parse(data) } catch { return } // asked for again it would be no better
    if (event === 'frame' && id) {
      const at = position(id)
      if (at > this.position) this.position = at
      this.resume = true
      const m = { t: 'frame', chat: body.chat || '', id, ops: body.ops }
      for (const t of [...this.tabs.values()]) if (t.chats.includes(m.chat)) t.send(m)
    } else if (event === 'ping') {
      this.tell('live')
      for (const [tab, t] of this.tabs) {
        if (++t.missed > SILENT) this.leave(tab)
        else t.send({ t: 'ping' })
      }
    } else if (event === 'reset') {
      this.all({ t: 'reset' })
      this.line.close()
      this.position = null
    } else if (event === 'end') {
      if (body.reason !== 'signed_out') return this.line.again(undefined, true)
      this.line.close()
      this.all({ t: 'out' })
    }
  }

  // tell passes the state on. After a break, 'open' is not yet 'live': the first
  // ping, or a moment, says that the page has caught up.
  tell(s) {
    clearTimeout(this.quiet)
    if (s === 'open') {
      s = this.state === 'live' || !this.resume ? 'live' : 'connecting'
      if (s !== 'live') this.quiet = setTimeout(() => this.tell('live'), this.line.ping / 10)
    }
    if (s === this.state) return
    this.state = s
    this.all({ t: 'state', state: s })
  }

  all(m) {
    for (const t of [...this.tabs.values()]) t.send(m)
  }
}

// position of a cursor EPOCH.POSITION.
export function position(cursor) {
  return Number(cursor.slice(cursor.lastIndexOf('.') + 1))
}
