// Runs before the first paint, right after <body> opens: a classic script, no module.
(function () {
  function get(key) {
    try { return localStorage.getItem('lembas:' + key) } catch (e) { return null }
  }
  var root = document.documentElement, theme = get('theme'), width = Number(get('width'))
  if (theme && !root.dataset.theme) root.dataset.theme = theme
  if (width) root.style.setProperty('--sidebar-w', width + 'px')
  document.body.dataset.side = get('side') === 'closed' || matchMedia('(max-width: 48rem)').matches ? 'closed' : 'open'
})()
