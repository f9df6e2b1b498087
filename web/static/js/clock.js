// Times that move: how long a call has run, and how long a card still waits. The
// moments themselves stay as the server wrote them, as all others of the page.

export function start() {
  for (const event of ['lembas:frame', 'lembas:fetched', 'htmx:after:swap']) document.addEventListener(event, write)
  setInterval(() => document.hidden || write(), 1000)
  write()
}

function write() {
  for (const el of document.querySelectorAll('time[data-elapsed]')) put(el, elapsed(Date.now() - Date.parse(el.dateTime)))
  for (const el of document.querySelectorAll('time[data-until]')) put(el, el.textContent.replace(/, [^,]* left$/, '') + left(Date.parse(el.dateTime) - Date.now()))
}

// put leaves what cannot be read, and the selection in what stays.
function put(el, words) {
  if (!/Invalid|NaN/.test(words) && el.textContent !== words) el.textContent = words
}

function elapsed(ms) {
  const s = Math.max(0, Math.floor(ms / 1000))
  return s < 100 ? `${s} s` : `${Math.floor(s / 60)} min ${s % 60} s`
}

function left(ms) {
  if (ms < 0) return ''
  if (ms < 60e3) return ', under a minute left'
  return ms <= 3600e3 ? `, ${Math.ceil(ms / 60e3)} min left` : ms < 48 * 3600e3 ? `, ${Math.floor(ms / 3600e3)} h left` : `, ${Math.floor(ms / 86400e3)} days left`
}
