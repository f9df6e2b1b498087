// Calls to the JSON API, same origin. Errors are problem documents; their words
// are for people.

export class Problem extends Error {
  constructor(status, detail, { errors, state } = {}) {
    super(detail)
    this.status = status // 0: the server was not reached
    this.errors = errors || {}
    this.state = state // of what a conflict is about
  }
}

// uid is a random id; randomUUID is missing on plain http.
export function uid() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map(b => b.toString(16).padStart(2, '0')).join('')
}

// api calls /api/v1 + path and returns the JSON answer, or null when there is none.
// Throws Problem. `key` repeats a post safely.
export async function api(method, path, body, key) {
  const headers = { Accept: 'application/json' }
  if (body !== undefined) headers['Content-Type'] = 'application/json'
  if (method === 'POST') headers['Idempotency-Key'] = key || uid()
  let answer
  try {
    answer = await fetch('/api/v1' + path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) })
  } catch {
    throw new Problem(0, navigator.onLine ? 'The server cannot be reached.' : 'You are offline.')
  }
  if (answer.status === 401) login()
  const text = await answer.text()
  if (answer.ok) return text ? JSON.parse(text) : null
  throw problem(answer.status, text, answer.headers.get('Retry-After'))
}

// problem reads a problem document, or makes words from the status alone.
export function problem(status, text, after) {
  let doc = {}
  try { doc = JSON.parse(text) || {} } catch { /* not ours: a proxy's page */ }
  const fields = Object.values(doc.errors || {}).map(e => e?.detail || e).filter(e => typeof e === 'string')
  const words = [doc.detail || doc.title || `The server answered ${status}.`, ...fields]
  if (status === 429 && after) words.push(`Try again in ${after} s.`)
  return new Problem(status, [...new Set(words)].join(' '), doc)
}

export const login = () => location.assign('/auth/login?next=' + encodeURIComponent(location.pathname + location.search))

// fragment fetches rendered HTML of this server.
export async function fragment(path) {
  const answer = await fetch(path, { headers: { Accept: 'text/html', 'HX-Request': 'true' } })
    .catch(() => { throw new Problem(0, 'The server cannot be reached.') })
  const text = await answer.text()
  if (!answer.ok) throw problem(answer.status, text)
  return text
}
