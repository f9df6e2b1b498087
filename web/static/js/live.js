// Parts of the page that the server renders again when the stream says that they
// have changed: data-src is where from, data-at what they were last asked for.

import { fragment } from './api.js'
import { morph } from './morph.js'
import { parse, wire } from './ops.js'

const asked = new Map() // by id: the data-at of the last fetch
const running = new Set()

export function start() {
  document.addEventListener('lembas:frame', e => {
    for (const op of e.detail.ops || []) if (op.op === 'attr' && op.name === 'data-at') look(op.target)
  })
  document.addEventListener('lembas:answered', () => refetch(document.getElementById('waiting-list')))
}

function look(id) {
  const el = document.getElementById(id), at = el?.dataset.at
  if (!el?.dataset.src || !at || asked.get(id) === at) return
  asked.set(id, at)
  refetch(el)
  if (id === 'waiting') refetch(document.getElementById('waiting-list'))
}

// refetch brings a part up to date, one fetch at a time: what changed meanwhile
// is asked for after it. A failure leaves what is there; the next change tries.
export async function refetch(el) {
  const id = el?.id
  if (!id || running.has(id)) return id && running.add('again ' + id)
  running.add(id)
  try {
    do {
      running.delete('again ' + id)
      const fresh = parse(await fragment(el.dataset.src)).firstElementChild
      const now = document.getElementById(id)
      if (!now || !fresh || fresh.id !== id) break
      morph(now, fresh)
      wire(now)
      document.dispatchEvent(new CustomEvent('lembas:fetched', { detail: id }))
    } while (running.has('again ' + id))
  } catch { /* said by the banner when the server is gone */ } finally {
    running.delete(id)
    running.delete('again ' + id)
  }
}
