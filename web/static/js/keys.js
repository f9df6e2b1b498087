// Shortcuts, by the physical key, so that they work on every layout. They click
// what is on the page; body[data-shortcuts=off] switches all but Esc off.

import { show, modal } from './dialog.js'
import { neighbour } from './sidebar.js'
import { copyLast } from './messages.js'
import { failed } from './toast.js'
import * as composer from './composer.js'

const mac = /Mac|iP(hone|ad)/.test(navigator.platform)
const click = css => document.querySelector(css)?.click()

// keys: `mod` is Ctrl, or Cmd on a Mac; `text` works while a person writes, too.
const keys = [
  { code: 'KeyK', mod: true, text: true, says: 'Search chats', run: search },
  { code: 'KeyN', alt: true, text: true, says: 'New chat', run: () => location.assign('/') },
  { code: 'KeyS', alt: true, text: true, says: 'Show or hide the sidebar', run: () => click('[data-act=toggle-sidebar]') },
  { code: 'Slash', says: 'Write a message', run: composer.focus },
  { code: 'Escape', shift: true, text: true, says: 'Write a message', run: composer.focus },
  { code: 'ArrowUp', alt: true, text: !mac, says: 'Previous chat', run: () => neighbour(-1) },
  { code: 'ArrowDown', alt: true, text: !mac, says: 'Next chat', run: () => neighbour(1) },
  { code: 'KeyC', alt: true, text: true, says: 'Copy the last reply', run: () => copyLast().catch(failed) },
  { code: 'KeyJ', alt: true, text: true, says: 'Jump to the latest', run: () => click('#jump') },
  { code: 'KeyW', alt: true, text: true, says: 'Go to what waits for you', run: waiting },
  { key: '?', says: 'This list', run: help },
]

// written are the ones that other modules serve.
const written = [
  ['Enter', 'Send (on a phone: new line)'], ['Shift+Enter', 'New line'], [mac ? '⌘+Enter' : 'Ctrl+Enter', 'Send, always'],
  ['↑', 'Edit the last message, from an empty box'], ['Esc', 'Close, or stop the reply'],
  ['A', 'Allow, while the focus is in a card'], ['E', 'Edit, in a card'], ['D', 'Deny, in a card'],
  ['//', 'Sends a text that begins with /'],
]

export function start() {
  document.addEventListener('keydown', e => {
    if (e.defaultPrevented || e.isComposing || e.keyCode === 229) return
    if (e.key === 'Escape' && !e.shiftKey && !e.altKey && !e.ctrlKey && !e.metaKey) {
      if (!modal() && composer.stopRunning()) e.preventDefault()
      return
    }
    if (document.body.dataset.shortcuts === 'off' || modal() || e.getModifierState('AltGraph')) return
    const hit = keys.find(k => fits(k, e))
    if (!hit || (!hit.text && writes(e.target))) return
    e.preventDefault()
    if (!e.repeat) hit.run()
  })
}

function fits(k, e) {
  if (k.key) return e.key === k.key && !e.ctrlKey && !e.metaKey && !e.altKey
  return e.code === k.code && e.altKey === !!k.alt && e.shiftKey === !!k.shift &&
    (mac ? e.metaKey : e.ctrlKey) === !!k.mod && !(mac ? e.ctrlKey : e.metaKey)
}

const writes = el => el.isContentEditable || !!el.closest?.('input, textarea, select')

function search() {
  if (document.body.dataset.side === 'closed') click('[data-act=toggle-sidebar]')
  const box = document.getElementById('side-filter')
  box?.focus()
  box?.select()
}

// waiting goes to the card in this page, else to the page with all of them.
function waiting() {
  const card = document.querySelector('[data-consent][data-state=waiting]')
  if (!card) return location.assign('/waiting')
  card.scrollIntoView({ block: 'nearest' })
  card.focus({ preventScroll: true })
}

const label = k => k.key || [k.mod && (mac ? '⌘' : 'Ctrl'), k.alt && (mac ? '⌥' : 'Alt'), k.shift && 'Shift',
  { Slash: '/', Escape: 'Esc', ArrowUp: '↑', ArrowDown: '↓' }[k.code] || k.code.replace('Key', '')].filter(Boolean).join('+')

// help lists everything, with a word when shortcuts are off.
export function help() {
  const list = document.createElement('dl')
  list.className = 'keys'
  const commands = Object.entries(composer.commands).map(([name, c]) => [name, c.says])
  for (const [k, says] of [...keys.map(k => [label(k), k.says]), ...written, ...commands]) {
    const dt = document.createElement('dt'), dd = document.createElement('dd'), kbd = document.createElement('kbd')
    kbd.textContent = k
    dt.append(kbd)
    dd.textContent = says
    list.append(dt, dd)
  }
  const off = document.createElement('p')
  off.textContent = document.body.dataset.shortcuts === 'off' ? 'Shortcuts are switched off in your settings; Esc and Enter still work.' : 'Settings can switch the shortcuts off.'
  show('Shortcuts and commands', list, off)
}
