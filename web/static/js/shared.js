// The SharedWorker: one hub for all tabs of this browser.

import { Hub } from './hub.js'

const hub = new Hub()
let tabs = 0

self.onconnect = e => {
  const port = e.ports[0], id = ++tabs
  port.onmessage = m => hub.receive(id, d => port.postMessage(d), m.data)
  port.onclose = () => hub.leave(id) // where the browser tells; else by silence
}
