// The service worker, and a word when the server has a newer version than this page.

import { toast } from './toast.js'

const mine = new URL(import.meta.url).pathname.split('/')[2] // /static/HASH/js/pwa.js

export function start() {
  navigator.serviceWorker?.register('/sw.js').catch(() => { /* a private window: nothing is kept */ })
  new MutationObserver(changed).observe(document.body, { attributes: true, attributeFilter: ['data-connection'], attributeOldValue: true })
}

// changed: after a break the server may be another one. The reader chooses when to reload.
async function changed([{ oldValue }]) {
  if (!oldValue || document.body.dataset.connection !== 'live') return
  const tag = await fetch('/sw.js', { method: 'HEAD', cache: 'no-store' }).then(r => r.ok && r.headers.get('ETag'), () => null)
  if (!tag || tag.includes(mine)) return
  toast({ kind: 'info', key: 'update', text: 'A new version is here.', action: { label: 'Reload', run: () => location.reload() } })
}
