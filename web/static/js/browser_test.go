package js_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// chromium is the one browser of the test run; each site is an origin of its own.
var chromium = sync.OnceValues(func() (context.Context, error) {
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath("/usr/bin/chromium"),
		chromedp.Flag("no-sandbox", true), chromedp.Flag("disable-gpu", true), chromedp.Flag("disable-component-update", true),
		// lan.test is an address on plain http: not a secure context.
		chromedp.Flag("host-resolver-rules", "MAP lan.test 127.0.0.1"))
	ctx, _ := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, _ = chromedp.NewContext(ctx)
	return ctx, chromedp.Do(ctx)
})

func TestMain(m *testing.M) {
	code := m.Run()
	if ctx, err := chromium(); err == nil {
		_ = chromedp.Cancel(ctx)
	}
	os.Exit(code)
}

// tab is one page in the browser. What the page writes to its console as an
// error, and what its policy refuses, fails the test.
type tab struct {
	t     *testing.T
	ctx   context.Context
	close func()

	mu     sync.Mutex // guards errors
	errors []string
}

// openTab makes a tab; before runs in it ahead of every page's own scripts.
func openTab(t *testing.T, before string) *tab {
	t.Helper()
	parent, err := chromium()
	if err != nil {
		t.Fatalf("chromium does not start: %v", err)
	}
	p := &tab{t: t}
	p.ctx, p.close = chromedp.NewContext(parent, chromedp.WithListener(p.listen))
	t.Cleanup(func() {
		p.close()
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, e := range p.errors {
			t.Errorf("the page complains: %s", e)
		}
	})
	// The tab lives as long as the context of its first run: no timeout here.
	if err := chromedp.Do(p.ctx); err != nil {
		t.Fatalf("no new tab: %v", err)
	}
	// As in the real sheets, the banner takes no room: what is clicked must not move.
	script := `addEventListener('securitypolicyviolation', e => console.error('CSP', e.violatedDirective, e.blockedURI))
		{ const sheet = new CSSStyleSheet(); sheet.replaceSync('.banner { display: none }'); document.adoptedStyleSheets = [sheet] }
	` + before
	p.do(func(ctx context.Context, target *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, target, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script})
		return chromedp.Void{}, err
	})
	return p
}

func (p *tab) listen(ev any) {
	var words string
	switch e := ev.(type) {
	case *runtime.EventExceptionThrown:
		words = e.ExceptionDetails.URL + " " + (&chromedp.ExceptionError{ExceptionDetails: e.ExceptionDetails}).Error()
	case *runtime.EventConsoleAPICalled:
		if e.Type != "error" {
			return
		}
		for _, a := range e.Args {
			words += " " + string(a.Value) + a.Description
		}
	default:
		return
	}
	p.mu.Lock()
	p.errors = append(p.errors, words)
	p.mu.Unlock()
}

// forgive drops the complaints so far: the test provoked them.
func (p *tab) forgive() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.errors = nil
}

func (p *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		p.t.Fatalf("in the browser: %v", err)
	}
}

// open goes to an address and waits until the scripts have started.
func (p *tab) open(url string) {
	p.t.Helper()
	p.do(chromedp.Navigate(url))
	p.until(`'ready' in document.documentElement.dataset`)
}

// run evaluates an expression, which may be a promise, in the page.
func run[T any](p *tab, expression string) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("evaluating %s: %v", expression, err)
	}
	return v
}

func (p *tab) exec(expression string) {
	p.t.Helper()
	run[chromedp.Void](p, expression)
}

// until waits for a condition in the page, also across a navigation.
func (p *tab) until(condition string) {
	p.t.Helper()
	look := fmt.Sprintf(`new Promise(done => {
		const ends = Date.now() + 1000
		const look = () => { try { if (%s) return done(true) } catch {} ; Date.now() > ends ? done(false) : setTimeout(look, 10) }
		look()
	})`, condition)
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	for ctx.Err() == nil {
		// An error is a page that is just being replaced.
		if ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool](look, chromedp.EvalAwaitPromise)); err == nil && ok {
			return
		}
	}
	var seen string
	if html, err := chromedp.Run(p.ctx, chromedp.Evaluate[string](`location.href + ' ' + document.body.outerHTML.slice(0, 6000)`)); err == nil {
		seen = html
	}
	p.t.Fatalf("never became true: %s\n%s", condition, seen)
}

// equal compares an expression's value, as JSON, with what is wanted.
func (p *tab) equal(expression string, want any) {
	p.t.Helper()
	got := run[string](p, fmt.Sprintf(`JSON.stringify(%s)`, expression))
	data, err := json.Marshal(want)
	if err != nil {
		p.t.Fatal(err)
	}
	if got != string(data) {
		p.t.Errorf("%s is %s, want %s", expression, got, data)
	}
}

// press types keys as a keyboard does: the text goes with the key down, so that
// a page that prevents the one prevents the other.
func (p *tab) press(keys string, modifiers ...chromedp.Modifier) {
	p.t.Helper()
	p.do(func(ctx context.Context, target *chromedp.Target) (chromedp.Void, error) {
		for _, r := range keys {
			for _, k := range stroke(r, modifiers) {
				if _, err := cdp.Call(ctx, target, input.DispatchKeyEvent, *k); err != nil {
					return chromedp.Void{}, err
				}
			}
		}
		return chromedp.Void{}, nil
	})
}

// stroke is down and up of the key that makes r.
func stroke(r rune, modifiers []chromedp.Modifier) []*input.DispatchKeyEventParams {
	events := kb.Encode(r)
	for _, k := range events {
		chromedp.KeyModifiers(modifiers...)(k)
	}
	if len(events) == 3 {
		if events[0].Modifiers&^int64(chromedp.ModifierShift) == 0 {
			events[0].Text, events[0].UnmodifiedText = events[1].Text, events[1].UnmodifiedText
		}
		events = []*input.DispatchKeyEventParams{events[0], events[2]}
	}
	return events
}

// click presses the mouse on an element, which gives the page its activation.
func (p *tab) click(css string) {
	p.t.Helper()
	p.do(chromedp.Click(chromedp.CSS(css)))
}

// lan is the site's address by a name that is no secure context.
func lan(s *site) string { return strings.Replace(s.URL, "127.0.0.1", "lan.test", 1) }

// quote writes a string as the page's language does.
func quote(s string) string {
	data, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(data)
}
