// The theme button: moria or shire, at once here, and kept in the account.

import { on } from './act.js'
import { store } from './store.js'
import { failed } from './toast.js'
import { problem } from './api.js'

const root = document.documentElement
const now = () => root.dataset.theme || (matchMedia('(prefers-color-scheme: light)').matches ? 'shire' : 'moria')

on('theme', async () => {
  const theme = now() === 'moria' ? 'shire' : 'moria'
  root.dataset.theme = theme
  store.set('theme', theme)
  if (!document.body.dataset.user) return
  const body = new URLSearchParams({ theme })
  const answer = await fetch('/settings/preferences', { method: 'POST', body, headers: { 'HX-Request': 'true' } })
  if (!answer.ok) failed(problem(answer.status, await answer.text()))
})
