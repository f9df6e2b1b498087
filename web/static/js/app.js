// The one script of a page: starts each behaviour. Everything else listens on
// the document, so that what a swap brings works at once.

import { onError } from './act.js'
import { failed } from './toast.js'
import './menu.js'
import './settings.js'
import './theme.js'
import * as badge from './badge.js'
import * as card from './card.js'
import * as cardkeys from './cardkeys.js'
import * as settle from './settle.js'
import * as clock from './clock.js'
import * as composer from './composer.js'
import * as keys from './keys.js'
import * as live from './live.js'
import * as notify from './notify.js'
import * as push from './push.js'
import * as pwa from './pwa.js'
import * as scope from './scope.js'
import * as scroll from './scroll.js'
import * as side from './side.js'
import * as sidebar from './sidebar.js'
import * as stream from './stream.js'

onError(failed)
for (const part of [side, scroll, composer, sidebar, keys, notify, push, live, settle, card, cardkeys, clock, scope, badge, stream, pwa]) part.start()
document.documentElement.dataset.ready = ''
