package js_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

const replyMarkup = `<article id="m-r1" data-message="r1" data-role="assistant" data-status="complete"><div id="rounds-r1"><section id="r-r1-1"><div id="text-r1-1"><p>In <strong>753</strong> BC.</p>` +
	`<figure class="code"><figcaption><span class="lang">sh</span><button data-copy="code">Copy</button></figcaption><pre><code>echo "753"
</code></pre></figure><div class="table"><button data-copy="table">Copy</button><table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>1, 2</td><td>say "x"</td></tr></tbody></table></div></div></section></div>` +
	`<footer id="foot-r1"><button data-act="copy-message" data-id="r1">MD</button><button data-act="copy-text" data-id="r1">Text</button><button data-act="regenerate" data-id="r1">Again</button></footer></article>`

// copied notes what goes to the clipboard, whichever way.
const copied = `addEventListener('copy', () => { window.copied = document.activeElement.value })
if (self.Clipboard) Clipboard.prototype.writeText = function (t) { window.copied = t; return Promise.resolve() }`

func replySite(t *testing.T) *site {
	s := newSite(t)
	s.main = strings.Replace(chatMain, `</div><div id="room">`, replyMarkup+`</div><div id="room">`, 1)
	s.answer("GET /api/v1/chats/c1", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `{"messages":[{"id":"t1","content":"x"},{"id":"r1","content":"In **753** BC."}]}`)
	})
	return s
}

// TestCopy copies over https-like and over plain http, where the clipboard API is missing.
func TestCopy(t *testing.T) {
	cases := []struct{ button, want string }{
		{"[data-act=copy-message][data-id=t1]", "When was Rome founded?"},
		{"[data-act=copy-message][data-id=r1]", "In **753** BC."},
		{"[data-act=copy-text]", "In 753 BC.\n\necho \"753\"\n\na\tb\n1, 2\tsay \"x\""},
		{"[data-copy=code]", "echo \"753\"\n"},
		{"[data-copy=table]", "a,b\r\n\"1, 2\",\"say \"\"x\"\"\"\r\n"},
	}
	for _, plain := range []bool{false, true} {
		t.Run(fmt.Sprintf("plain http %t", plain), func(t *testing.T) {
			s := replySite(t)
			p := openTab(t, copied)
			url := s.URL
			if plain {
				url = lan(s)
			}
			p.open(url + "/chat/c1")
			p.equal(`!!navigator.clipboard`, !plain)
			for _, c := range cases {
				p.exec(`(window.copied = null, getSelection().selectAllChildren(document.querySelector('#text-r1-1 strong')), document.getElementById('live').textContent = '')`)
				p.click(c.button)
				p.until(`document.getElementById('live').textContent.startsWith('Copied')`)
				want := c.want
				if plain {
					want = strings.ReplaceAll(want, "\r\n", "\n") // a text field has one kind of line end
				}
				p.equal(`copied`, want)
				p.equal(`document.querySelector(`+quote(c.button)+`).dataset.done`, "Copied")
				p.equal(`document.querySelector('body > textarea')`, nil)
			}
		})
	}
}

func TestEditTurn(t *testing.T) {
	s := replySite(t)
	s.answer("POST /api/v1/chats/c1/messages/t1/edit", func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, `{"detail":"A reply is running."}`, http.StatusConflict)
	})
	p := openTab(t, "")
	p.open(s.URL + "/chat/c1")
	p.click("#prompt")
	p.exec(`document.getElementById('prompt').dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowUp', bubbles: true, cancelable: true}))`)
	p.until(`document.activeElement.value === 'When was Rome founded?'`)
	p.equal(`getComputedStyle(document.querySelector('#m-t1 .turn')).display`, "none")
	p.press("?")
	p.click("[data-act=save-edit]")
	if c := s.called(t, "POST /api/v1/chats/c1/messages/t1/edit", 0); c.Body != `{"text":"When was Rome founded??"}` {
		t.Errorf("edited with %s", c.Body)
	}
	p.until(`document.querySelector('.toast')?.textContent.includes('A reply is running.')`)
	p.equal(`document.querySelector('#m-t1 textarea').value`, "When was Rome founded??")
	s.answer("POST /api/v1/chats/c1/messages/t1/edit", accepted)
	p.click("[data-act=save-edit]")
	p.until(`!document.querySelector('#m-t1 textarea') && document.querySelector('#m-t1 .turn').style.display === ''`)
	p.equal(`document.activeElement.dataset.act`, "edit-message")
	p.click("[data-act=edit-message]")
	p.press("\x1b")
	p.until(`!document.querySelector('#m-t1 textarea')`)
	p.forgive()
}

func TestQueueAndReplyActions(t *testing.T) {
	s := replySite(t)
	s.main = strings.Replace(s.main, `<section id="queue"></section>`, `<section id="queue"><ul><li id="q-q1" data-message="q1"><div id="text-q1">later</div><button data-act="send-now" data-id="q1">Now</button><button data-act="edit-queued" data-id="q1">Edit</button><button data-act="withdraw" data-id="q1">Out</button></li></ul></section>`, 1)
	routes := []string{"POST /api/v1/chats/c1/messages/q1/send", "PATCH /api/v1/chats/c1/messages/q1", "DELETE /api/v1/chats/c1/messages/q1", "POST /api/v1/chats/c1/replies/r1/regenerate"}
	for _, r := range routes {
		s.answer(r, accepted)
	}
	p := openTab(t, "")
	p.open(s.URL + "/chat/c1")
	p.click("[data-act=send-now]")
	s.called(t, routes[0], 0)
	p.click("[data-act=edit-queued]")
	p.until(`document.activeElement.value === 'later'`)
	p.equal(`[document.querySelector('#q-q1 .hint'), document.querySelector('#q-q1 [data-act=save-edit]').textContent]`, []any{nil, "Save"})
	p.press("!")
	p.click("#q-q1 [data-act=save-edit]")
	if c := s.called(t, routes[1], 0); c.Body != `{"text":"later!"}` {
		t.Errorf("queued edit sends %s", c.Body)
	}
	p.click("[data-act=withdraw]")
	s.called(t, routes[2], 0)
	p.click("[data-act=regenerate]")
	s.called(t, routes[3], 0)
	p.equal(`!!document.getElementById('q-q1')`, true) // only the stream removes a row
}
