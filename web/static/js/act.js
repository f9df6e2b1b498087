// Buttons say what they do with data-act; one listener on the document serves
// them all, also those that a swap brings later.

const acts = new Map()
let oops = console.error

// on registers fn(button, id) for data-act=name.
export function on(name, fn) {
  acts.set(name, fn)
}

// onError takes what a rejected action threw.
export function onError(fn) {
  oops = fn
}

// act does what a click on the button would, for keys and menus.
export async function act(el) {
  const fn = acts.get(el?.dataset.act)
  if (!fn || el.disabled) return false
  try {
    await fn(el, el.dataset.id)
  } catch (err) {
    oops(err)
  }
  return true
}

document.addEventListener('click', e => {
  const el = e.target.closest?.('[data-act]')
  if (!el || !acts.has(el.dataset.act) || e.defaultPrevented) return
  if (el.href && (e.ctrlKey || e.metaKey || e.shiftKey)) return
  e.preventDefault()
  act(el)
})
