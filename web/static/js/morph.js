// Brings an element to the form of another with the fewest changes, so that a
// selection, a focus, an open menu or a folded box in it survive. Text that only
// grew is appended to. A node marked data-keep (an editor that a person has
// open) is left alone, and so is what a person opened or closed in <details>.

export function morph(old, now) {
  if (old.isEqualNode(now)) return
  attributes(old, now)
  children(old, now, old.firstChild)
}

function attributes(old, now) {
  for (const { name } of [...old.attributes]) {
    if (!now.hasAttribute(name) && !local(old, name)) old.removeAttribute(name)
  }
  for (const { name, value } of now.attributes) {
    if (old.getAttribute(name) !== value && !local(old, name)) old.setAttribute(name, value)
  }
}

// local attributes belong to the page, not to the server.
const local = (el, name) => name === 'data-local' || name === 'style' || name === 'data-htmx-powered' || name === 'data-placed' ||
  (name === 'open' && el.hasAttribute('data-local'))

// children changes the children of `old` from the node `at` on into those of `now`.
export function children(old, now, at) {
  at = skip(at)
  for (const fresh of [...now.childNodes]) {
    const twin = at && match(old, at, fresh)
    if (!twin) {
      old.insertBefore(fresh, at)
      continue
    }
    if (twin !== at) old.insertBefore(twin, at)
    else at = skip(at.nextSibling)
    if (twin.nodeType === 1) morph(twin, fresh)
    else if (twin.data !== fresh.data) text(twin, fresh.data)
  }
  while (at) {
    const next = skip(at.nextSibling)
    at.remove()
    at = next
  }
}

// match finds the old node that becomes `fresh`: by id, else the one in place.
function match(old, at, fresh) {
  if (fresh.id) {
    for (let n = at; n; n = n.nextSibling) if (n.id === fresh.id) return n
    return null
  }
  return !at.id && at.nodeType === fresh.nodeType && at.nodeName === fresh.nodeName ? at : null
}

const skip = n => {
  while (n?.dataset && 'keep' in n.dataset) n = n.nextSibling
  return n
}

// text keeps the node, and a selection in it, where the words only grew.
export function text(node, data) {
  if (data.startsWith(node.data)) node.appendData(data.slice(node.length))
  else node.data = data
}

// A person's own click on a fold counts from then on.
document.addEventListener('click', e => {
  const fold = e.target.closest?.('summary')?.parentElement
  if (fold?.id) fold.setAttribute('data-local', '')
}, true)
