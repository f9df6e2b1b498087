package main

import (
	"fmt"
	"github.com/chromedp/chromedp"
	"testing"
)

// TestScreens walks through the product and writes what it looks like, in both
// themes, wide and narrow: make screens.
func TestScreens(t *testing.T) {
	s := serve(t, dataDir(t), "--demo")
	b := newProfile(t)
	p := b.tab("")
	p.size(1280, 800)
	p.do(chromedp.Navigate(s.url + "/auth/register"))
	p.until(`document.querySelector('input[name=password]')`)
	p.shot("01-register")
	p.signUp(s.url, "ann@example.org")
	p.shot("02-new-chat")
	p.say("Show me what you can do, please: markdown")
	p.chatID()
	p.until(`document.querySelector('#log [data-role=assistant] p')`)
	p.shot("03-streaming")
	p.settled("complete")
	p.shot("04-complete")
	chat := value[string](p, `location.href`)
	for _, theme := range []string{"moria", "shire"} {
		for _, width := range []int64{1280, 360} {
			height := int64(800)
			if width == 360 {
				height = 740
			}
			p.size(width, height)
			for i, path := range []string{chat, s.url + "/", s.url + "/settings", s.url + "/admin/connections", s.url + "/admin/models", s.url + "/admin/users", s.url + "/admin/settings", s.url + "/nothing-here"} {
				p.do(chromedp.Navigate(path))
				p.until(`document.readyState === 'complete'`)
				value[bool](p, `(document.documentElement.dataset.theme = `+quote(theme)+`, true)`)
				p.until(`document.fonts.status === 'loaded'`)
				p.shot(fmt.Sprintf("%s-%d-%d", theme, width, i))
				if over := value[int](p, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
					t.Errorf("%s at %d px is %d px too wide", path, width, over)
				}
			}
		}
	}
}
