// A tab that is not looked at may have the system tell the reader.

import { told } from './push.js'

export function start() {
  document.addEventListener('lembas:frame', e => {
    if (e.detail.chat) return
    for (const op of e.detail.ops || []) if (op.op === 'toast' && document.hidden) tell(op)
  })
  control()
  navigator.permissions?.query({ name: 'notifications' }).then(p => { p.onchange = control }, () => { /* not told of changes */ })
}

// tell: a card that waits where this browser is told so, the rest as preferred.
// The tag makes one notification of those of seven tabs; a card has that of
// sw.js, so that a push message changes it and does not add to it.
async function tell({ kind, text, key, href }) {
  if (self.Notification?.permission !== 'granted') return
  const card = kind === 'warn'
  if (document.body.dataset.notify !== 'on' && !(card && told())) return
  const options = { body: text, tag: card ? 'waiting' : key, icon: '/apple-touch-icon.png', data: { href } }
  const worker = await navigator.serviceWorker?.getRegistration().catch(() => null)
  if (worker?.active) return worker.showNotification('LLeMbas', options)
  const note = new Notification('LLeMbas', options)
  note.onclick = () => {
    focus()
    if (href?.startsWith('/') && href !== location.pathname) location.assign(href)
  }
}

// control: the settings' check box asks the browser, or says why it cannot.
function control() {
  const box = document.querySelector('input[type=checkbox][name=notify]')
  if (!box) return
  const why = !self.isSecureContext ? 'Browsers allow notifications only over https or on localhost.'
    : !self.Notification ? 'This browser has no notifications.'
      : Notification.permission === 'denied' ? 'The browser blocks notifications of this site; its site settings can allow them.' : ''
  box.disabled = !!why
  box.title = why
  const words = document.getElementById('notify-why')
  if (words) words.textContent = why
}

document.addEventListener('change', async e => {
  if (!e.target.matches?.('input[type=checkbox][name=notify]') || !e.target.checked || !self.Notification) return
  if (await Notification.requestPermission() !== 'granted') e.target.checked = false
  control()
})
document.addEventListener('htmx:after:swap', control)
