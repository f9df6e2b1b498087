// Shared menus: a [data-menu] button opens a popover natively; here its actions
// get the button's object, it is put beside the button, and arrow keys walk it.

const items = menu => [...menu.querySelectorAll('button, a[href], input[type=checkbox]')].filter(el => !el.disabled && el.offsetParent)
let opener

document.addEventListener('click', e => {
  const button = e.target.closest?.('[data-menu]')
  if (button) {
    opener = button
    const menu = document.getElementById(button.getAttribute('popovertarget'))
    for (const el of menu?.querySelectorAll('[data-act]') || []) el.dataset.id = button.dataset.id || ''
  }
  const inside = e.target.closest?.('[popover]')
  if (inside && e.target.closest('button, a')) inside.hidePopover()
}, true)

document.addEventListener('toggle', e => {
  const menu = e.target
  if (!menu.matches?.('[popover]')) return
  menu.toggleAttribute('data-placed', e.newState === 'open') // until then it is not shown
  if (e.newState !== 'open' || !opener?.isConnected || opener.getAttribute('popovertarget') !== menu.id) return
  place(menu, opener.getBoundingClientRect())
  items(menu)[0]?.focus()
}, true)

// place keeps the menu inside the window, below the button or above it.
function place(menu, by) {
  const { offsetWidth: w, offsetHeight: h } = menu
  const top = by.bottom + h + 8 > innerHeight && by.top > h ? by.top - h - 4 : by.bottom + 4
  Object.assign(menu.style, {
    position: 'fixed', margin: '0', inset: 'auto',
    left: Math.max(8, Math.min(by.left, innerWidth - w - 8)) + 'px', top: Math.max(8, top) + 'px',
  })
}

document.addEventListener('keydown', e => {
  const menu = e.target.closest?.('[popover]')
  if (!menu) return
  const list = items(menu), at = list.indexOf(document.activeElement)
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: list.length - 1 }[e.key]
  if (to === undefined || !list.length || e.target.matches('input:not([type=checkbox]), select, textarea')) return
  e.preventDefault()
  list[(to + list.length) % list.length].focus()
})
