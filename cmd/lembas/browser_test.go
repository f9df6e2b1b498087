package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// patience bounds every wait in the browser; on a loaded machine things are
// slow, not wrong.
const patience = 60 * time.Second

// ctrl is held while a key is pressed.
const ctrl = chromedp.ModifierCtrl

// profile is a browser of its own: its cookies are one person's.
type profile struct {
	t   testing.TB
	ctx context.Context
}

func newProfile(t testing.TB) *profile {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath("/usr/bin/chromium"),
		chromedp.Flag("no-sandbox", true), chromedp.Flag("disable-gpu", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("host-resolver-rules", "MAP lan.test 127.0.0.1"))
	ctx, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(ctx)
	t.Cleanup(func() { cancel(); stop() })
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("chromium does not start: %v", err)
	}
	return &profile{t: t, ctx: ctx}
}

// tab is one page. What it writes to its console as an error and what its
// policy refuses fails the test.
type tab struct {
	t     testing.TB
	ctx   context.Context
	close func()

	mu     sync.Mutex // guards errors
	errors []string
}

func (b *profile) tab(before string) *tab {
	b.t.Helper()
	p := &tab{t: b.t}
	p.ctx, p.close = chromedp.NewContext(b.ctx, chromedp.WithListener(p.listen))
	b.t.Cleanup(func() {
		p.close()
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, e := range p.errors {
			b.t.Errorf("the page complains: %s", e)
		}
	})
	must(b.t, chromedp.Do(p.ctx)) // no timeout: the tab lives as long as this context
	script := `addEventListener('securitypolicyviolation', e => console.error('CSP', e.violatedDirective, e.blockedURI));` + before
	p.do(func(ctx context.Context, target *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, target, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script})
		return chromedp.Void{}, err
	})
	return p
}

func (p *tab) listen(ev any) {
	words := ""
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
	p.errors = nil
	p.mu.Unlock()
}

func (p *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		p.t.Fatalf("in the browser: %v", err)
	}
}

// open goes to an address and waits until the page's scripts have started.
func (p *tab) open(url string) {
	p.t.Helper()
	p.do(chromedp.Navigate(url))
	p.until(`'ready' in document.documentElement.dataset`)
}

// value evaluates an expression, which may be a promise.
func value[T any](p *tab, expression string) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("evaluating %s: %v", expression, err)
	}
	return v
}

// until waits for a condition, also across a navigation.
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
		if ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool](look, chromedp.EvalAwaitPromise)); err == nil && ok {
			return
		} // an error is a page that is just being replaced
	}
	seen, _ := chromedp.Run(p.ctx, chromedp.Evaluate[string](`location.href + '\n' + (document.querySelector('#side-tree')?.innerText || '') + '\n' + (document.querySelector("main")||document.body).outerHTML.slice(0, 3000)`))
	p.shot("failed-" + strings.ReplaceAll(p.t.Name(), "/", "-"))
	p.t.Fatalf("never became true: %s\n%s", condition, seen)
}

// click presses what a person would press: not in the moment in which cards take
// no answer.
func (p *tab) click(css string) {
	p.t.Helper()
	p.until(`!('settling' in (document.body?.dataset ?? {}))`)
	p.do(chromedp.Click(chromedp.CSS(css)))
}

// press types keys as a keyboard does, as click presses.
func (p *tab) press(keys string, modifiers ...chromedp.Modifier) {
	p.t.Helper()
	p.until(`!('settling' in (document.body?.dataset ?? {}))`)
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

// stroke is down and up of a key; the text goes with the key down, so that a
// page that prevents the one prevents the other.
func stroke(r rune, modifiers []chromedp.Modifier) []*input.DispatchKeyEventParams {
	all := kb.Encode(r)
	for _, k := range all {
		chromedp.KeyModifiers(modifiers...)(k)
	}
	if len(all) == 3 {
		if all[0].Modifiers&^int64(chromedp.ModifierShift) == 0 {
			all[0].Text, all[0].UnmodifiedText = all[1].Text, all[1].UnmodifiedText
		}
		all = []*input.DispatchKeyEventParams{all[0], all[2]}
	}
	return all
}

// write focuses a field and types.
func (p *tab) write(css, text string) {
	p.t.Helper()
	p.do(chromedp.Focus(chromedp.CSS(css)))
	p.press(text)
}

// size gives the page a window; narrow ones are phones.
func (p *tab) size(width, height int64) {
	p.t.Helper()
	p.do(func(ctx context.Context, target *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, target, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
			Width: width, Height: height, DeviceScaleFactor: 1, Mobile: width < 700})
		if err == nil { // no motion, so that a screenshot never shows half of one
			_, err = cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
				Features: []*emulation.MediaFeature{{Name: "prefers-reduced-motion", Value: "reduce"}}})
		}
		if err == nil {
			on := width < 700
			_, err = cdp.Call(ctx, target, emulation.SetTouchEmulationEnabled, emulation.SetTouchEmulationEnabledParams{Enabled: on})
		}
		return chromedp.Void{}, err
	})
}

// shot writes a screenshot into LEMBAS_SCREENS; without it, it does nothing.
func (p *tab) shot(name string) {
	p.t.Helper()
	dir := os.Getenv("LEMBAS_SCREENS")
	if dir == "" {
		return
	}
	must(p.t, os.MkdirAll(dir, 0o755))
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	png, err := chromedp.Run(ctx, func(ctx context.Context, target *chromedp.Target) ([]byte, error) {
		r, err := cdp.Call(ctx, target, page.CaptureScreenshot, page.CaptureScreenshotParams{Format: "png"})
		return r.Data, err
	})
	must(p.t, err)
	must(p.t, os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644))
}

// quote writes a string as the page's language does.
func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// signUp registers through the form, as a person does.
func (p *tab) signUp(url, email string) {
	p.t.Helper()
	p.do(chromedp.Navigate(url + "/auth/register"))
	p.until(`document.querySelector('input[name=password]')`)
	p.write(`input[name=email]`, email)
	p.write(`input[name=password]`, "correct horse battery\r")
	p.until(`document.querySelector('#composer') && 'ready' in document.documentElement.dataset`)
}

// say writes a message and sends it with Enter.
func (p *tab) say(text string) {
	p.t.Helper()
	p.write(`#prompt`, text+"\r")
}

// settled waits until the newest reply stands as one of some words.
func (p *tab) settled(words ...string) {
	p.t.Helper()
	var any []string
	for _, w := range words {
		any = append(any, quote(w))
	}
	slices.Sort(any)
	p.until(`(() => { const all = document.querySelectorAll('#log [data-role=assistant]'); return all.length && [` + strings.Join(any, ",") + `].includes(all[all.length-1].dataset.status) })()`)
}

// chatID is the chat that the tab shows.
func (p *tab) chatID() string {
	p.t.Helper()
	p.until(`location.pathname.startsWith('/chat/') && 'ready' in document.documentElement.dataset`)
	return value[string](p, `location.pathname.split('/')[2]`)
}
