// What a person has begun on a card and not sent: it survives a reload of the
// tab, and goes with the answer. Private windows may refuse; then it lives with
// the page.

const kept = new Map()
const name = card => 'card:' + card.dataset.consent

// draft gives {parts: {KEY: {verdict?, editing?, edit?, denying?, reason?, text?, option?}}, body?, key?};
// the part of the buttons for all items has the key ''.
export function draft(card) {
  const id = name(card)
  if (!kept.has(id)) kept.set(id, stored(id) || { parts: {} })
  return kept.get(id)
}

function stored(id) {
  try { return JSON.parse(sessionStorage.getItem(id)) } catch { return null }
}

// part is the draft of one item, or with null of the buttons for all.
export const part = (card, item) => draft(card).parts[item?.dataset.item || ''] ??= {}

export function keep(card) {
  try { sessionStorage.setItem(name(card), JSON.stringify(draft(card))) } catch { /* full or forbidden */ }
}

export function forget(card) {
  kept.delete(name(card))
  try { sessionStorage.removeItem(name(card)) } catch { /* forbidden */ }
}
