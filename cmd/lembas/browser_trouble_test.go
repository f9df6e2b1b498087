package main

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestTrouble is what a person sees of an endpoint in trouble: clear words in
// the bubble, what arrived, a way to try again.
func TestTrouble(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct{ words, title, said, kept string }{
		{"cut it", "The connection to the endpoint broke in mid-answer.", "", "Hello from the demo."},
		{"an error", "The endpoint reported an error while it was answering.", "The demo reports an error", "Hello from the demo."},
		{"html", "The endpoint answered with something that is not a reply.", "", ""},
	} {
		t.Run(c.words, func(t *testing.T) {
			p := w.at(t, w.chat("demo-chat", c.words))
			p.settled("failed")
			p.until(newest + `.querySelector('.bubble').innerText.includes(` + quote(c.title) + `) && ` + newest + `.querySelector('.who .status').innerText.trim() === 'failed'`)
			p.until(newest + `.querySelector('.rounds').innerText.includes(` + quote(c.kept) + `)`)
			if c.said != "" {
				p.click(`#log .bubble summary`)
				p.until(newest + `.querySelector('.bubble pre').innerText.includes(` + quote(c.said) + `)`)
			}
			p.shot("trouble-" + strings.ReplaceAll(c.words, " ", "-"))
			p.click(`#log [data-act=retry]`)
			p.until(newest + `.querySelector('.versions')?.innerText.trim() === '2/2'`)
			p.settled("failed")
		})
	}
	t.Run("busy is tried again, visibly", func(t *testing.T) {
		p := w.at(t, w.chat("demo-chat", "busy"))
		p.until(newest + `.innerText.includes('trying again in')`)
		p.shot("trouble-busy")
		p.settled("complete")
		p.until(newest + `.innerText.includes('You wrote: “busy”')`)
	})
	t.Run("fail is tried again and can be stopped", func(t *testing.T) {
		p := w.at(t, w.chat("demo-chat", "fail"))
		p.until(newest + `.innerText.includes('trying again in')`)
		p.click(`#send[data-act=stop]`)
		p.settled("stopped")
	})
	t.Run("an endpoint that is down", func(t *testing.T) {
		w.admin.want(200, "PATCH", "/api/v1/connections/"+w.demo, map[string]any{"base_url": "http://127.0.0.1:9/v1"})
		p := w.at(t, w.chat("demo-chat", "hello?"))
		p.until(newest + `.innerText.includes('trying again in')`)
		p.shot("trouble-down")
		w.admin.want(200, "PATCH", "/api/v1/connections/"+w.demo, map[string]any{"base_url": startDemoAt(t, 8)})
		p.click(`#send[data-act=stop]`)
		p.settled("stopped")
		p.click(`#log [data-act=regenerate]`)
		p.settled("complete")
	})
}

// TestAnotherName: an instance that was told its address answers to that name
// and to plain addresses, and tells everybody else that it is not theirs.
func TestAnotherName(t *testing.T) {
	s := serve(t, dataDir(t), "--base-url", "http://chat.example.org")
	p := newProfile(t).tab("")
	p.do(chromedp.Navigate(strings.Replace(s.url, "127.0.0.1", "lan.test", 1)))
	p.until(`document.querySelector('.fault-status').innerText === '403' && document.querySelector('main').innerText.includes('not known by that name')`)
	p.shot("another-name")
	p.do(chromedp.Navigate(s.url + "/auth/register")) // by address one can look
	p.until(`document.querySelector('input[name=password]')`)
	p.write(`input[name=email]`, annMail)
	p.write(`input[name=password]`, password+"\r")
	p.until(`document.querySelector('.fault-status')?.innerText === '403' && document.querySelector('main').innerText.includes('takes changes at http://chat.example.org only')`)
}
