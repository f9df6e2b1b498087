// What waits elsewhere, where it is seen without looking at the page: a number
// in the tab's title, and a sign on its icon while a card waits for the reader.

let title = document.title
const here = document.querySelector('main[data-chat-id]')?.dataset.chatId
const icon = () => document.querySelector('link[rel=icon]')
const calm = icon()?.href, calling = new URL('../art/favicon-waiting.svg', import.meta.url).href

export function start() {
  document.addEventListener('lembas:title', () => { title = document.title; badge() })
  document.addEventListener('visibilitychange', badge)
  document.addEventListener('lembas:frame', badge)
  document.addEventListener('lembas:fetched', badge)
  document.addEventListener('htmx:after:swap', badge)
  badge()
}

// others are the rows with a mark; the chat that is looked at is none of them.
const others = css => [...document.querySelectorAll(`#side-tree ${css}`)].filter(el => document.hidden || el.dataset.chat !== here)

function badge() {
  const n = others('[data-chat]:is([data-unread], [data-needs-you])').length
  const want = n ? `(${n}) ${title}` : title
  if (document.title !== want) document.title = want
  // The list of chats may be cut; the count beside "Waiting" is of all.
  const waits = others('[data-chat][data-needs-you]').length > 0 ||
    Number(document.getElementById('waiting')?.dataset.count) > document.querySelectorAll('#side-tree [data-needs-you]').length
  const el = icon(), href = waits ? calling : calm
  if (el && el.href !== href) el.href = href
}
