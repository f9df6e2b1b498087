package main

import (
	"strings"
	"testing"
)

// TestAPersonSignsUpAndApproves is the minute that README promises: with the
// demo, an account, a reply that waits for its person, and the trail of it.
func TestAPersonSignsUpAndApproves(t *testing.T) {
	s := serve(t, dataDir(t), "--demo")
	p := newProfile(t).tab("")
	p.signUp(s.url, annMail)
	p.choose("#model", "demo-chat")
	p.say("card")
	chat := p.chatID()
	p.until(`document.querySelectorAll('[data-consent][data-state=waiting] [data-item]').length === 3`)
	p.until(`document.querySelector('#waiting').dataset.count === '1'`)
	p.shot("demo-1-card")
	p.open(s.url + "/waiting")
	p.until(`document.querySelectorAll('[data-consent][data-state=waiting]').length === 1`)
	p.shot("demo-2-waiting")
	p.open(s.url + "/chat/" + chat)
	p.click(`[data-slot=all] [data-verdict=allow][data-all]`)
	p.settled("complete")
	p.until(newest + `.innerText.includes('Raven 1 flies to Gandalf') && document.querySelectorAll('[data-consent][data-state=answered]').length === 1`)
	p.shot("demo-3-done")
	p.open(s.url + "/audit")
	p.until(`document.body.innerText.includes('demo_send_raven') || document.body.innerText.includes('Send a raven')`)
	p.shot("demo-4-audit")
	if page := value[string](p, `document.documentElement.outerHTML`); strings.Contains(page, "You are late") {
		t.Error("the trail shows content")
	}
}
