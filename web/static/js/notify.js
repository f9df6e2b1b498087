// A tab that is not looked at may have the system tell the reader.
export function start() {
  document.addEventListener('lembas:frame', e => {
    if (e.detail.chat) return
    for (const op of e.detail.ops || []) if (op.op === 'toast' && document.hidden) tell(op)
  })
  control()
}

// tell uses the toast's key as the tag: seven tabs show one notification.
function tell({ text, key, href }) {
  if (document.body.dataset.notify !== 'on' || !self.Notification || Notification.permission !== 'granted') return
  const note = new Notification('LLeMbas', { body: text, tag: key, icon: document.querySelector('link[rel=icon]')?.href })
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
  if (why) {
    box.disabled = true
    box.title = why
    const words = document.getElementById('notify-why')
    if (words) words.textContent = why
  }
}

document.addEventListener('change', async e => {
  if (!e.target.matches?.('input[type=checkbox][name=notify]') || !e.target.checked || !self.Notification) return
  if (await Notification.requestPermission() !== 'granted') e.target.checked = false
  control()
})
document.addEventListener('htmx:after:swap', control)
