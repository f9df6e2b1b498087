// What this browser remembers. Private windows may refuse; then nothing is kept.

export const store = {
  get(key) {
    try { return localStorage.getItem('lembas:' + key) } catch { return null }
  },
  set(key, value) {
    try {
      if (value === null || value === '') localStorage.removeItem('lembas:' + key)
      else localStorage.setItem('lembas:' + key, value)
    } catch { /* full or forbidden */ }
  },
}
