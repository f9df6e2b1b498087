// Our own dialogs, in the layout's one <dialog id="ask">. The browser traps the
// focus and closes with Esc; the focus goes back to where it came from.

// ask({title, text?, label?, value?, choices?: [[value, label]], chosen?, ok?, danger?})
// resolves to null when cancelled, else to the text, the choice, or true.
export function ask({ title, text = '', label = '', value, choices, chosen, ok = 'OK', danger = false }) {
  const box = document.getElementById('ask')
  if (!box || box.open) return Promise.resolve(null)
  const slot = name => box.querySelector(`[data-slot=${name}]`)
  const put = (el, words) => {
    el.textContent = words
    el.hidden = !words
  }
  const input = slot('input'), choice = slot('choice'), back = document.activeElement, asks = value !== undefined
  put(slot('title'), title)
  put(slot('text'), text)
  put(slot('label').querySelector('span'), label)
  slot('label').hidden = !asks
  slot('ok').textContent = ok
  box.toggleAttribute('data-danger', danger)
  input.required = asks
  input.value = value ?? ''
  choice.hidden = !choices
  choice.setAttribute('aria-label', label || title)
  choice.replaceChildren(...(choices || []).map(([v, words], i) => radio(v, words, chosen ? v === chosen : i === 0)))
  box.returnValue = 'cancel'
  // Enter would press the first button, which is Cancel.
  box.onkeydown = e => {
    if (e.key !== 'Enter' || e.isComposing || e.target.matches('button')) return
    e.preventDefault()
    box.querySelector('form').requestSubmit(slot('ok'))
  }
  box.showModal()
  if (asks) input.select()
  else if (choices) choice.querySelector(':checked, input').focus()
  else if (danger) box.querySelector('[value=cancel]').focus()
  return new Promise(done => box.addEventListener('close', () => {
    if (back?.isConnected) back.focus()
    if (box.returnValue !== 'ok') return done(null)
    done(choices ? choice.querySelector(':checked').value : asks ? input.value.trim() || null : true)
  }, { once: true }))
}

function radio(value, words, checked) {
  const label = document.createElement('label'), input = document.createElement('input')
  Object.assign(input, { type: 'radio', name: 'choice', value, checked })
  label.append(input, words)
  return label
}

// show opens a dialog made of nodes, closed by Esc, by its button or beside it.
// Its text has the focus, so that the keys scroll it; its button is always seen.
export function show(title, ...nodes) {
  const box = document.createElement('dialog'), head = document.createElement('h2'), text = document.createElement('div'), close = document.createElement('button')
  box.className = 'dialog shown'
  text.className = 'dialog-text'
  text.tabIndex = 0
  text.setAttribute('role', 'group')
  text.setAttribute('aria-labelledby', 'shown-title')
  text.append(...nodes)
  head.textContent = title
  head.id = 'shown-title'
  box.setAttribute('aria-labelledby', head.id)
  close.textContent = 'Close'
  close.className = 'button prime'
  close.type = 'button'
  close.onclick = () => box.close()
  box.onclick = e => e.target === box && box.close()
  box.onclose = () => box.remove()
  box.append(head, text, close)
  document.body.append(box)
  box.showModal()
  text.focus()
  return box
}

// modal says whether something lies over the page that Esc closes first.
export const modal = () => !!document.querySelector('dialog[open], [popover]:popover-open')

// htmx asks before it sends what has hx-confirm; the browser's own box is never used.
document.addEventListener('htmx:confirm', async e => {
  const { ctx, issueRequest, dropRequest } = e.detail
  e.preventDefault()
  const yes = await ask({ title: ctx.confirm, ok: ctx.sourceElement?.dataset?.ok || 'Yes', danger: true })
  if (yes) issueRequest()
  else dropRequest()
})
