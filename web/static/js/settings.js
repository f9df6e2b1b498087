// htmx forms: what was saved is said, what failed is shown, and a page of an
// htmx answer never swallows a problem.

import { say } from './announce.js'
import { problem, login } from './api.js'
import { failed, toast } from './toast.js'
import { copy } from './clip.js'
import { on } from './act.js'

const swapped = status => status < 400 || status === 422

document.addEventListener('htmx:response:error', e => {
  const { response, text } = e.detail.ctx
  if (swapped(response.status)) return
  if (response.status === 401) return login()
  failed(problem(response.status, text, response.headers.get('Retry-After')))
})

document.addEventListener('htmx:error', e => {
  console.error(e.detail.error)
  toast({ kind: 'error', text: 'The server cannot be reached.', key: 'failed' })
})

// A fragment says itself what happened: [data-saved] or, at 422, its first field error.
document.addEventListener('htmx:after:swap', e => {
  const { ctx } = e.detail, target = ctx.target?.id && document.getElementById(ctx.target.id)
  const box = target || document
  const saved = box.querySelector('[data-saved]')
  if (saved?.textContent) say(saved.textContent.trim())
  if (ctx.response?.status === 422) box.querySelector('[aria-invalid=true]')?.focus()
})

on('copy-secret', el => copy(document.getElementById(el.dataset.id)?.textContent.trim() || '', el))
