// Live regions: one sentence when something ended, never a word at a time.

// say speaks politely, or at once for errors and questions.
export function say(words, assertive) {
  const region = document.getElementById(assertive ? 'alert' : 'live')
  if (!region || !words) return
  // The same sentence again is only spoken when the text changes.
  region.textContent = region.textContent === words ? words + '\u00a0' : words
}
