package custom

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"lembas/commands/tools"
	"lembas/commands/tools/guard"
	"lembas/events"
)

// canned answers every request with one answer, and keeps the request.
type canned struct {
	status    int
	typ, body string
	truncated bool
	err       error
	got       guard.Request
}

func (c *canned) Do(_ context.Context, r guard.Request) (*guard.Response, error) {
	c.got = r
	if c.err != nil {
		return nil, c.err
	}
	h := http.Header{}
	if c.typ != "" {
		h.Set("Content-Type", c.typ)
	}
	return &guard.Response{Status: c.status, Header: h, Body: []byte(c.body), Truncated: c.truncated}, nil
}

func TestAToolAsItIsOffered(t *testing.T) {
	st := weather()
	st.Guidance = "Ask for a place first."
	got := New(st, nil, &canned{}).Spec
	want := tools.Spec{Name: "weather", Description: "The weather of a place.", Risk: "read", Gate: "custom", Scope: "custom:weather", Label: "Weather", Icon: "tool",
		Guidance: "Ask for a place first.", Timeout: 30 * time.Second}
	if string(got.Schema) != string(Schema(st)) {
		t.Errorf("schema %s", got.Schema)
	}
	got.Schema = nil
	if got.Name != want.Name || got.Description != want.Description || got.Risk != want.Risk || got.Gate != want.Gate || got.Scope != want.Scope ||
		got.Label != want.Label || got.Icon != want.Icon || got.Guidance != want.Guidance || got.Timeout != want.Timeout || got.Detail != "" {
		t.Errorf("%+v", got)
	}
}

func TestAnswers(t *testing.T) {
	big := strings.Repeat("é", MaxAnswer/2)
	for name, c := range map[string]struct {
		res    canned
		status string
		has    string // in the output
		hasNot string
	}{
		"text":            {canned{status: 200, typ: "text/plain; charset=utf-8", body: "fine"}, events.ToolOK, "HTTP 200 OK · text/plain\n\nfine", ""},
		"json":            {canned{status: 201, typ: "application/vnd.x+json", body: `{"a":1}`}, events.ToolOK, `{"a":1}`, ""},
		"html is text":    {canned{status: 200, typ: "text/html", body: "<script>x()</script>"}, events.ToolOK, "<script>x()</script>", ""},
		"empty":           {canned{status: 204}, events.ToolOK, "HTTP 204 No Content\n\n(the answer is empty)", ""},
		"no type, text":   {canned{status: 200, body: "fine"}, events.ToolOK, "fine", ""},
		"no type, binary": {canned{status: 200, body: "\x00\x01\x02"}, events.ToolError, "not text (", "\x00"},
		"image":           {canned{status: 200, typ: "image/png", body: "PNG8bytes"}, events.ToolError, "not text (image/png, 9 bytes)", "PNG8"},
		"image, large":    {canned{status: 200, typ: "image/png", body: "PNG", truncated: true}, events.ToolError, "more than 1048576 bytes", "PNG8"},
		"lying type":      {canned{status: 200, typ: "text/plain", body: "a\x00b"}, events.ToolError, "not text", "\x00"},
		"latin 1":         {canned{status: 200, typ: "text/plain; charset=iso-8859-1", body: "caf\xe9"}, events.ToolOK, "café", ""},
		"not found":       {canned{status: 404, typ: "text/plain", body: "no such place"}, events.ToolError, "HTTP 404 Not Found · text/plain\n\nno such place", ""},
		"redirect":        {canned{status: 300, body: "choose"}, events.ToolError, "HTTP 300", ""},
		"odd status":      {canned{status: 599, body: "x"}, events.ToolError, "HTTP 599\n\nx", ""},
		"error, long":     {canned{status: 500, typ: "text/plain", body: big}, events.ToolError, "the rest of this answer is left out", strings.Repeat("é", maxFault)},
		"cut":             {canned{status: 200, typ: "text/plain", body: big[:MaxAnswer-1] + "x", truncated: true}, events.ToolOK, "[cut: the answer is larger than 1048576 bytes]", ""},
		"trouble":         {canned{err: errors.New("no connection")}, events.ToolError, "The request failed: no connection", ""},
		"refused":         {canned{err: guard.ErrRefused}, events.ToolRefused, "The request was refused", ""},
	} {
		res := call(t, weather(), nil, &c.res, `{"id":"1"}`)
		if res.Status != c.status || !strings.Contains(res.Output, c.has) || c.hasNot != "" && strings.Contains(res.Output, c.hasNot) {
			t.Errorf("%s: %s %.300q", name, res.Status, res.Output)
		}
		if len(res.Output) > MaxAnswer+1000 {
			t.Errorf("%s: %d bytes", name, len(res.Output))
		}
	}
}

func TestWhatIsAskedOfTheClient(t *testing.T) {
	st := weather()
	st.Timeout = 7
	st.Headers = []events.CustomHeader{{Name: "X-Key", Secret: true}}
	c := &canned{status: 200}
	call(t, st, map[string]string{"X-Key": "k"}, c, `{"id":"1"}`)
	if r := c.got; r.Redirects != guard.FollowSame || r.MaxBody != MaxAnswer || r.Timeout != 7*time.Second || len(r.Secret) != 1 || r.Secret[0] != "X-Key" || r.Trusted != "" {
		t.Errorf("%+v", r)
	}
	c = &canned{status: 200}
	if res := call(t, st, map[string]string{"X-Key": "k"}, c, `{"nobody":1}`); res.Status != events.ToolError || c.got.URL != "" {
		t.Errorf("wrong arguments: %+v, sent %+v", res, c.got)
	}
	if res := call(t, st, nil, c, `{}`); res.Status != events.ToolRefused || c.got.URL != "" || !strings.Contains(res.Output, "administrator") {
		t.Errorf("without its secret: %+v, sent %+v", res, c.got)
	}
}

func TestSecretsThatComeBackAreHidden(t *testing.T) {
	const token = "tok-12345678"
	st := weather()
	st.Headers = []events.CustomHeader{{Name: "Authorization", Secret: true}}
	secrets := map[string]string{"Authorization": "Bearer " + token}
	for name, c := range map[string]canned{
		"whole":    {status: 200, body: `{"authorization":"Bearer ` + token + `"}`},
		"token":    {status: 401, body: "the token " + token + " is wrong"},
		"at a cut": {status: 200, body: "the token " + token[:len(token)-1], truncated: true},
		"error":    {err: errors.New("bad header Bearer " + token)},
	} {
		res := call(t, st, secrets, &c, `{"id":"1"}`)
		if strings.Contains(res.Output, token[:8]) {
			t.Errorf("%s: %q", name, res.Output)
		}
	}
	short := canned{status: 200, body: "none of them"}
	if res := call(t, st, map[string]string{"Authorization": "none"}, &short, `{}`); !strings.Contains(res.Output, "none of them") {
		t.Errorf("a short secret tore a hole: %q", res.Output)
	}
}

func TestTryShowsTheRequestAsItIsSent(t *testing.T) {
	w := newWorld(t, nil, ok)
	st := weather()
	st.Method, st.Body = "POST", `{"place":"{{id}}","echo":"sec-12345678"}`
	st.Headers = []events.CustomHeader{{Name: "x-note", Value: "{{id}}"}, {Name: "X-Key", Secret: true}}
	preview, res, err := Try(t.Context(), w, st, map[string]string{"X-Key": "sec-12345678"}, json.RawMessage(`{"id":"a b"}`))
	check(t, err)
	want := "POST https://api.test/items/a%20b\nContent-Type: application/json\nX-Key: ***\nX-Note: a b\n\n" + `{"place":"a b","echo":"***"}`
	if preview != want || res.Status != events.ToolOK || !strings.HasSuffix(res.Output, "fine") {
		t.Errorf("%s\n%+v", preview, res)
	}
	got := w.last(t)
	if got.URL != "https://api.test/items/a%20b" || got.Method != "POST" || got.Header.Get("X-Key") != "sec-12345678" || got.Header.Get("X-Note") != "a b" ||
		got.Body != `{"place":"a b","echo":"sec-12345678"}` {
		t.Errorf("sent %+v", got)
	}
	for field, change := range map[string]func(*events.CustomState){
		"arguments": func(*events.CustomState) {},
		"timeout":   func(s *events.CustomState) { s.Timeout = 0 },
		"url":       func(s *events.CustomState) { s.URL = "https://{{id}}/" },
	} {
		draft := weather()
		change(&draft)
		if _, _, err := Try(t.Context(), w, draft, nil, json.RawMessage(`{"id":1}`)); strings.Join(fields(err), " ") != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	if len(w.seen) != 1 {
		t.Errorf("%d requests", len(w.seen))
	}
}

func TestHopsKeepMethodAndBody(t *testing.T) {
	r := row{}
	r.Input.Redirects = [][2]any{{308.0, "/b"}}
	w := newWorld(t, nil, r.chain())
	st := weather()
	st.Method, st.Body = "PUT", "hello {{id}}"
	if res := call(t, st, nil, w, `{"id":"x"}`); res.Status != events.ToolOK || !strings.Contains(res.Output, "from https://api.test/b") {
		t.Errorf("%+v", res)
	}
	if got := w.last(t); got.URL != "https://api.test/b" || got.Method != "PUT" || got.Body != "hello x" {
		t.Errorf("%+v", got)
	}
	r.Input.Redirects = [][2]any{{302.0, "/b"}}
	w = newWorld(t, nil, r.chain())
	if res := call(t, st, nil, w, `{"id":"x"}`); res.Status != events.ToolRefused || len(w.seen) != 1 {
		t.Errorf("a redirect that changes the request: %+v after %d", res, len(w.seen))
	}
}
