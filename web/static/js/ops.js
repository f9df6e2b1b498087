// Applies what the stream brings. Every op is absolute: applied twice it changes
// nothing more. The html is rendered by this server and parsed only here.

import { children, morph, text } from './morph.js'
import { say } from './announce.js'
import { toast } from './toast.js'

const byId = id => id ? document.getElementById(id) : null
const settable = /^(data-[\w-]+|aria-[\w-]+|hidden|open)$/

const ops = {
  // keep is how many element children stay, or a way down to where that is: all
  // numbers but the last choose a child to go into. What follows is dropped on
  // every level. The kept ones are not touched, the rest is changed into the new
  // form, so that a selection survives in either.
  blocks({ target, keep = 0, html = '' }) {
    let box = byId(target)
    const way = [keep].flat(), stay = way.pop()
    for (const i of way) {
      const into = box?.children[i]
      while (into?.nextSibling) into.nextSibling.remove()
      box = into
    }
    if (box) children(box, parse(html), stay ? box.children[stay - 1]?.nextSibling : box.firstChild)
  },

  put({ target, into, html, before }) {
    const fresh = parse(html).firstElementChild
    if (!fresh) return
    const place = byId(into), next = byId(before)
    const old = byId(target)
    let el = old
    if (old && old.nodeName === fresh.nodeName) morph(old, fresh)
    else if (old) old.replaceWith(el = fresh)
    else if (place) place.insertBefore(el = fresh, next?.parentNode === place ? next : null)
    else return
    if (old && place) settle(el, place, next)
    wire(el)
  },

  remove({ target }) { byId(target)?.remove() },

  attr({ target, name, value }) {
    const el = byId(target)
    if (!el || !settable.test(name)) return
    if (name === 'open' && el.hasAttribute('data-local')) return
    if (value === null) el.removeAttribute(name)
    else if (el.getAttribute(name) !== String(value)) el.setAttribute(name, value)
  },

  text({ target, text: words }) {
    const el = byId(target)
    if (!el || el.textContent === words) return
    if (el.childNodes.length === 1 && el.firstChild.nodeType === 3) text(el.firstChild, words)
    else el.textContent = words
  },

  title({ text: words }) {
    if (document.title === words) return
    document.title = words
    document.dispatchEvent(new CustomEvent('lembas:title'))
  },

  announce({ text: words, assertive }) { say(words, assertive) },

  toast(op) { toast(op) },
}

// apply does a frame's ops in order; one that fails does not stop the rest.
export function apply(list) {
  for (const op of list || []) {
    try {
      ops[op.op]?.(op)
    } catch (err) {
      console.error('op', op.op, op.target, err)
    }
  }
}

// parse makes nodes that run no script: a template's content is inert.
export function parse(html) {
  const t = document.createElement('template')
  t.innerHTML = html
  return t.content
}

// settle moves an element that stands elsewhere than the op says.
function settle(el, place, next) {
  const beside = next?.parentNode === place
  if (el.parentNode === place && (!beside || el.nextElementSibling === next)) return
  if (next !== el) place.insertBefore(el, beside ? next : null)
}

// wire lets htmx see what its own swaps did not bring.
export function wire(el) {
  if (self.htmx && (el.matches('[hx-get],[hx-post],[hx-patch],[hx-delete]') || el.querySelector('[hx-get],[hx-post],[hx-patch],[hx-delete]'))) {
    htmx.process(el, true)
  }
}
