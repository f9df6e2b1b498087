// The service worker: static files, the offline page, and the word that a card
// waits. What is not named here goes to the network as if this file did not exist.

const name = 'lembas-static'

self.addEventListener('install', e => e.waitUntil(keepOffline()))

// A new worker waits for no tab: it holds no state, and pages are not reloaded.
self.addEventListener('activate', e => e.waitUntil(self.clients.claim()))

// keepOffline stores the offline page with what it refers to.
async function keepOffline() {
  const cache = await caches.open(name)
  const answer = await fetch('/offline', { cache: 'no-store' })
  if (!answer.ok) return
  await cache.put('/offline', answer.clone())
  const refs = [...(await answer.text()).matchAll(/(?:href|src)="(\/static\/[^"]+)"/g)].map(m => m[1])
  await Promise.all(refs.map(u => cache.add(u).catch(() => {})))
  await self.skipWaiting()
}

self.addEventListener('fetch', e => {
  const { request } = e, url = new URL(request.url)
  if (request.method !== 'GET' || url.origin !== location.origin) return
  if (url.pathname.startsWith('/static/')) e.respondWith(fromCache(request, url))
  else if (request.mode === 'navigate' && !/^\/(api|auth|admin)\/|^\/events/.test(url.pathname)) e.respondWith(fromNet(request))
})

// fromCache: an address with a hash never changes. One version is kept beside the present.
async function fromCache(request, url) {
  const cache = await caches.open(name), hit = await cache.match(request)
  if (hit) return hit
  const answer = await fetch(request)
  if (answer.ok && /immutable/.test(answer.headers.get('Cache-Control') || '')) {
    await cache.put(request, answer.clone())
    prune(cache, url.pathname.split('/')[2])
  }
  return answer
}

// prune drops files of other versions once there are many of them.
async function prune(cache, hash) {
  const old = (await cache.keys()).filter(r => r.url.includes('/static/') && !r.url.includes(`/static/${hash}/`))
  if (old.length > 100) await Promise.all(old.map(r => cache.delete(r)))
}

async function fromNet(request) {
  try {
    return await fetch(request)
  } catch (err) {
    const page = await (await caches.open(name)).match('/offline')
    if (page) return page
    throw err
  }
}

// A push message has no content: the words are here.
self.addEventListener('push', e => e.waitUntil(waiting()))

async function waiting() {
  const tabs = await self.clients.matchAll({ type: 'window', includeUncontrolled: true })
  if (tabs.some(t => t.focused)) return // the page shows it
  // What an open page has said already, with the chat's name, is better.
  const [said] = await self.registration.getNotifications({ tag: 'waiting' })
  await self.registration.showNotification('LLeMbas', {
    body: said?.body || 'Something waits for you', tag: 'waiting', icon: '/apple-touch-icon.png', data: said?.data || { href: '/waiting' },
  })
}

self.addEventListener('notificationclick', e => {
  e.notification.close()
  e.waitUntil(go(e.notification.data?.href))
})

// go shows a page of ours: the tab that has it, else a new one; no other tab is
// taken, somebody may be writing there.
async function go(href) {
  const url = new URL(href || '/waiting', location.origin)
  if (url.origin !== location.origin) return
  const tabs = await self.clients.matchAll({ type: 'window', includeUncontrolled: true })
  const tab = tabs.find(t => new URL(t.url).pathname === url.pathname)
  await (tab ? tab.focus() : self.clients.openWindow(url.href))
}
