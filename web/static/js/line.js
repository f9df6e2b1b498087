// One event stream over fetch: a parser that does not care where the bytes
// were cut, and a connection that sees a dead line by itself.

const LIMIT = 1 << 25 // characters of one unfinished event

// parser returns feed(text); each complete event goes to emit({event, id, data}).
// id is undefined for an event that had none: control events must not move a cursor.
export function parser(emit) {
  let rest = '', from = 0, event = '', id, data = null

  const field = line => {
    if (line === '') {
      if (data !== null) emit({ event: event || 'message', id, data })
      event = ''
      id = undefined
      data = null
      return
    }
    const colon = line.indexOf(':')
    if (colon === 0) return
    const name = colon < 0 ? line : line.slice(0, colon)
    let value = colon < 0 ? '' : line.slice(colon + 1)
    if (value[0] === ' ') value = value.slice(1)
    if (name === 'data') data = data === null ? value : data + '\n' + value
    else if (name === 'event') event = value
    else if (name === 'id' && !value.includes('\0')) id = value
  }

  return text => {
    rest += text
    let start = 0
    for (const end = /\r\n|\r|\n/g; ;) {
      end.lastIndex = Math.max(from, start)
      const hit = end.exec(rest)
      // A \r at the very end may be half of \r\n: wait for the next bytes.
      if (!hit || (hit[0] === '\r' && end.lastIndex === rest.length)) {
        from = hit ? hit.index : rest.length
        break
      }
      field(rest.slice(start, hit.index))
      start = from = end.lastIndex
    }
    rest = rest.slice(start)
    from -= start
    if (rest.length > LIMIT) throw new Error('event too large')
  }
}

// Line keeps one connection open until close(). on.event gets each event,
// on.state gets 'connecting', 'open' or 'lost', on.out is called once when the
// server says 401. `ping` is the server's interval in ms: three missed ones
// mean that the line is dead, and the waits between attempts follow from it.
export class Line {
  constructor(ping, on) {
    Object.assign(this, { ping, on, tries: 0, heard: 0, gone: true })
  }

  // open connects anew; target() gives {url, id?}, asked at each attempt.
  open(target) {
    this.close()
    this.gone = false
    this.target = target
    this.watch = setInterval(() => this.check(3), this.ping / 2)
    this.connect()
  }

  close() {
    this.gone = true
    clearInterval(this.watch)
    clearTimeout(this.timer)
    this.abort?.abort()
    this.abort = null
  }

  // check asks: is the line still alive? A line that was silent for `missed`
  // pings is replaced, a wait for the next attempt is cut short; a good one stays.
  check(missed = 1.5) {
    if (this.gone) return
    if (this.abort && Date.now() - this.heard > missed * this.ping) this.again(0)
    else if (!this.abort && missed < 3) this.again(0)
  }

  // again makes the next attempt after ms, or after a growing, jittered wait.
  // Quietly: the server said that it would close, nothing is wrong.
  again(ms = this.wait(), quietly = false) {
    if (this.gone) return
    this.abort?.abort()
    this.abort = null
    clearTimeout(this.timer)
    this.tries++
    if (!quietly) this.on.state(this.tries > 2 ? 'lost' : 'connecting')
    this.timer = setTimeout(() => this.connect(), ms)
  }

  wait() {
    return this.ping / 40 + Math.random() * Math.min(this.ping * 3, this.ping / 20 * 2 ** this.tries)
  }

  async connect() {
    const abort = this.abort = new AbortController()
    const mine = () => this.abort === abort
    this.heard = Date.now()
    let wait
    try {
      const { url, id } = this.target()
      const headers = { Accept: 'text/event-stream' }
      if (id) headers['Last-Event-ID'] = id
      const answer = await fetch(url, { headers, cache: 'no-store', signal: abort.signal })
      if (!mine()) return
      if (answer.status === 401) return this.close(), this.on.out()
      if (!answer.ok) {
        wait = Number(answer.headers.get('Retry-After')) * 1000 || undefined
        throw new Error(`status ${answer.status}`)
      }
      this.heard = Date.now()
      this.on.state('open')
      await this.read(answer.body.getReader(), mine)
    } catch { /* the cause does not matter: the next attempt tells */ }
    if (mine()) this.again(wait)
  }

  async read(reader, mine) {
    const text = new TextDecoder()
    const feed = parser(e => {
      if (!mine()) return
      this.tries = 0
      this.on.event(e)
    })
    for (;;) {
      const { done, value } = await reader.read()
      if (done || !mine()) return
      this.heard = Date.now()
      feed(text.decode(value, { stream: true }))
    }
  }
}
