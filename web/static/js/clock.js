// Times that move: how long a call has run, and until when a card waits, in the
// reader's own time. The server writes a form that is right without a script.

const short = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' })
const long = new Intl.DateTimeFormat(undefined, { weekday: 'short', hour: '2-digit', minute: '2-digit' })

const far = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' })

export function start() {
  for (const event of ['lembas:frame', 'lembas:fetched', 'htmx:after:swap']) document.addEventListener(event, write)
  setInterval(() => document.hidden || write(), 1000)
  write()
}

function write() {
  for (const el of document.querySelectorAll('time[data-elapsed]')) put(el, elapsed(Date.now() - Date.parse(el.dateTime)))
  for (const el of document.querySelectorAll('time[data-until]')) put(el, local(el) + left(Date.parse(el.dateTime) - Date.now()))
  for (const el of document.querySelectorAll('time[data-since]')) put(el, local(el))
}

// local is a moment as the reader's clock has it, with the day when it is another.
function local(el) {
  const at = new Date(el.dateTime)
  if (isNaN(at)) return 'Invalid'
  return at.toDateString() === new Date(Date.now()).toDateString() ? short.format(at) : Math.abs(at - Date.now()) < 6 * 86400e3 ? long.format(at) : far.format(at)
}

// put leaves what cannot be read, and the selection in what stays.
function put(el, words) {
  if (!/Invalid|NaN/.test(words) && el.textContent !== words) el.textContent = words
}

function elapsed(ms) {
  const s = Math.max(0, Math.floor(ms / 1000))
  return s < 100 ? `${s} s` : `${Math.floor(s / 60)} min ${s % 60} s`
}

// left is said in the last hour only.
const left = ms => ms > 3600e3 || ms < 0 ? '' : ms < 60e3 ? ', under a minute left' : `, ${Math.ceil(ms / 60e3)} min left`
