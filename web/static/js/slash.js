// The list of commands under a / in the composer, as a combobox: arrow keys
// choose, Enter runs what is chosen, Tab writes it out, Esc closes. Without a
// choice Enter sends as ever.

import { say } from './announce.js'

let box, list, run, all, at = -1

// slash serves a textarea; commands is {name: {says}}, pick(name) runs one.
export function slash(textarea, commands, pick) {
  ;[box, run, all] = [textarea, pick, commands]
  box.addEventListener('input', look)
  box.addEventListener('blur', hide)
  box.addEventListener('keydown', key)
}

const open = () => list && !list.hidden
const names = () => Object.keys(all).filter(n => n.startsWith(box.value) && n !== box.value)

function look() {
  const found = /^\/[a-z]*$/.test(box.value) ? names() : []
  if (!found.length) return hide()
  list ??= make()
  const was = list.hidden || list.children.length !== found.length
  list.replaceChildren(...found.map(option))
  list.hidden = false
  for (const [k, v] of [['role', 'combobox'], ['aria-expanded', 'true'], ['aria-haspopup', 'listbox'], ['aria-controls', list.id], ['aria-autocomplete', 'list']]) box.setAttribute(k, v)
  choose(-1)
  if (was) say(`${found.length} command${found.length > 1 ? 's' : ''}; arrow keys choose.`)
}

function make() {
  const el = document.createElement('ul')
  Object.assign(el, { id: 'commands', className: 'commands' })
  el.setAttribute('role', 'listbox')
  el.setAttribute('aria-label', 'Commands')
  el.dataset.keep = ''
  // A press must not take the focus from the box.
  el.addEventListener('pointerdown', e => e.preventDefault())
  el.addEventListener('mousedown', e => e.preventDefault())
  el.addEventListener('click', e => {
    const hit = e.target.closest('[role=option]')
    if (hit) pick(hit.dataset.name)
  })
  box.closest('form').append(el)
  return el
}

function option(name, i) {
  const li = document.createElement('li'), code = document.createElement('code'), says = document.createElement('span')
  li.id = 'command-' + i
  li.setAttribute('role', 'option')
  li.dataset.name = name
  code.textContent = name
  says.textContent = all[name].says
  li.append(code, says)
  return li
}

function choose(i) {
  at = i
  const options = [...list.children]
  options.forEach((el, n) => el.setAttribute('aria-selected', n === i))
  if (i < 0) box.removeAttribute('aria-activedescendant')
  else box.setAttribute('aria-activedescendant', options[i].id)
}

function hide() {
  if (!open()) return
  list.hidden = true
  at = -1
  for (const k of ['role', 'aria-expanded', 'aria-haspopup', 'aria-controls', 'aria-autocomplete', 'aria-activedescendant']) box.removeAttribute(k)
}

function pick(name) {
  hide()
  run(name)
}

function key(e) {
  if (!open() || e.isComposing || e.keyCode === 229 || e.ctrlKey || e.metaKey || e.altKey) return
  const n = list.children.length, step = { ArrowDown: 1, ArrowUp: -1 }[e.key]
  if (step) choose(at < 0 ? (step > 0 ? 0 : n - 1) : (at + step + n) % n)
  else if (e.key === 'Escape') hide()
  else if (at >= 0 && e.key === 'Enter') pick(list.children[at].dataset.name)
  else if (at >= 0 && e.key === 'Tab' && !e.shiftKey) {
    box.value = list.children[at].dataset.name
    box.dispatchEvent(new Event('input', { bubbles: true }))
    hide()
  } else return
  e.preventDefault()
  e.stopImmediatePropagation()
}
