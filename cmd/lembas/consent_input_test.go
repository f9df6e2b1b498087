package main

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"lembas/events"
)

// TestAnswersToCardsThatAreNotOpen: unknown ones and those of others are 404,
// closed ones 409 with what became of them. The model reads that nobody answered.
func TestAnswersToCardsThatAreNotOpen(t *testing.T) {
	d := newDesk(t)
	bob := d.s.person("bob@example.test", false)
	chat, reply := d.begin(once("open", calling("press", "open")))
	other, _ := d.begin(once("other", calling("press", "other")))
	card, second := d.ann.card(chat, 1), d.ann.card(other, 1)
	allow := verdicts(card, "allow")
	for path, who := range map[string]*client{
		cardPath(chat, card):                                    bob,
		cardPath(other, card):                                   d.ann,
		cardPath(chat, second):                                  d.ann,
		"/api/v1/chats/" + chat + "/interactions/none":          d.ann,
		"/api/v1/chats/none/interactions/" + card.Consent:       d.ann,
		"/api/v1/chats/" + chat + "/interactions/%2e%2e%2fstop": d.ann,
	} {
		if a := who.do("POST", path, allow); a.status != 404 {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	if a := bob.do("GET", "/api/v1/interactions", nil); strings.TrimSpace(string(a.body)) != "[]" {
		t.Errorf("bob sees %s", a.body)
	}
	if d.tool.total() != 0 {
		t.Fatalf("ran %v", d.tool.ran())
	}
	d.between(func(a *app) { must(t, a.service.ExpireConsent(t.Context(), chat, card.Consent)) })
	if status := d.ann.awaitEnd(chat, reply); status != events.Complete {
		t.Errorf("ended %s", status)
	}
	if told, shown := d.told("open")[callID(0, 0)], d.ann.transcript(chat).tools()[callID(0, 0)]; shown["status"] != events.ToolExpired || !strings.Contains(told, "Nobody answered in time") {
		t.Errorf("the reader sees %v, the model %q", shown, told)
	}
	d.ann.want(202, "POST", "/api/v1/chats/"+other+"/stop", nil)
	third, last := d.begin(once("third", calling("press", "third")))
	answered := d.ann.card(third, 1)
	d.ann.want(200, "POST", cardPath(third, answered), map[string]any{"answers": []any{map[string]any{"key": answered.Items[0].Key, "verdict": "deny", "reason": "not today"}}})
	d.ann.awaitEnd(third, last)
	if told := d.told("third")[callID(0, 0)]; !strings.Contains(told, "denied") || !strings.Contains(told, "not today") {
		t.Errorf("the model was told %q", told)
	}
	for path, state := range map[string]string{cardPath(chat, card): "expired", cardPath(other, second): "withdrawn", cardPath(third, answered): "answered"} {
		a := d.ann.do("POST", path, allow)
		var told said
		must(t, json.Unmarshal(a.body, &told))
		if a.status != 409 || told.State != state || (state == "answered") != (len(told.Answers) == 1 && told.Answers[0].Verdict == "deny") {
			t.Errorf("%s: %d %s", state, a.status, a.body)
		}
		if a := bob.do("POST", path, allow); a.status != 404 {
			t.Errorf("%s for bob: %d", state, a.status)
		}
	}
	if d.tool.total() != 0 {
		t.Errorf("ran %v", d.tool.ran())
	}
}

// TestAnswersThatCannotBe: a card takes no answer that is not whole and not one
// of its own; it waits as before.
func TestAnswersThatCannotBe(t *testing.T) {
	d := newDesk(t)
	chat, reply := d.begin(once("picky", calling("press", "one"), calling("shoot", "two")))
	card := d.ann.card(chat, 1)
	item := func(i int, more ...any) map[string]any {
		m := map[string]any{"key": card.Items[i].Key, "verdict": "allow"}
		for j := 0; j+1 < len(more); j += 2 {
			m[more[j].(string)] = more[j+1]
		}
		return m
	}
	list := func(items ...any) any { return map[string]any{"answers": items} }
	for name, body := range map[string]any{
		"nothing":             raw(""),
		"no JSON":             raw("{"),
		"a list":              raw("[]"),
		"another shape":       raw(`{"answers":{"0":"allow"}}`),
		"no answers":          list(),
		"one of two":          list(item(0)),
		"one twice":           list(item(0), item(0), item(1)),
		"an item of its own":  list(item(0), item(1), map[string]any{"key": "9", "verdict": "allow"}),
		"another verdict":     list(item(0), item(1, "verdict", "maybe")),
		"no verdict":          list(item(0), item(1, "verdict", "")),
		"a reason to allow":   list(item(0), item(1, "reason", "because")),
		"a long reason":       list(item(0), item(1, "verdict", "deny", "reason", strings.Repeat("x", 2001))),
		"text on an approval": list(item(0), item(1, "text", "yes")),
		"other arguments":     list(item(0), item(1, "arguments", map[string]any{"nonce": "three"})),
		"more arguments":      list(item(0), item(1, "arguments", map[string]any{"nonce": "two", "times": 5})),
		"fewer arguments":     list(item(0), item(1, "arguments", map[string]any{})),
		"arguments: a list":   list(item(0), item(1, "arguments", []any{"two"})),
	} {
		if a := d.ann.do("POST", cardPath(chat, card), body); a.status != 422 && a.status != 400 {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	if pending, _ := d.ann.want(200, "GET", "/api/v1/chats/"+chat, nil)["pending"].([]any); len(pending) != 1 || d.tool.total() != 0 {
		t.Fatalf("%v waits, ran %v", pending, d.tool.ran())
	}
	d.ann.want(200, "POST", cardPath(chat, card), list(item(1), item(0, "arguments", map[string]any{"nonce": "one"})))
	if status := d.ann.awaitEnd(chat, reply); status != events.Complete || d.tool.count("one") != 1 || d.tool.count("two") != 1 {
		t.Errorf("ended %s, ran %v", status, d.tool.ran())
	}
}

// TestArgumentsThatCannotRun: the model gets words that it can act on, and the
// card shows exactly what would run, which is what runs.
func TestArgumentsThatCannotRun(t *testing.T) {
	d := newDesk(t)
	bad := map[string]string{ // what the model has to read
		`{"nonce":"cut`:                  `"nonce"`,
		`{}`:                             `"nonce"`,
		``:                               `"nonce"`,
		`null`:                           `"nonce"`,
		`{"nonce":7}`:                    `"nonce" must be of type string`,
		`{"nonce":null}`:                 `"nonce"`,
		`{"nonce":["x"]}`:                `"nonce" must be of type string`,
		`{"nonce":"x","times":"three"}`:  `"times" must be of type integer`,
		`{"nonce":"x","times":1.5}`:      `"times" must be of type integer`,
		`{"times":1}`:                    `"nonce"`,
		`{"nonce":"a","nonce":"b"}`:      `"nonce"`,
		`{"nonce":"` + "\xff\xfe" + `"}`: ``,
	}
	var all []planned
	for _, args := range slices.Sorted(maps.Keys(bad)) {
		all = append(all, planned{Name: "press", Args: args})
	}
	good := []string{`{"nonce":"good"}`, `{"nonce":"with a tail"} {}`, `{"nonce":"<b>\u202e&\"'"}`, `{"nonce":"two\nlines","times":2}`, `just words`, `"quoted"`, `[1]`, `{"nonce":"more","unknown":true}`}
	for _, args := range good {
		all = append(all, planned{Name: "press", Args: args})
	}
	chat, reply := d.begin(once("bad", all...))
	card := d.ann.card(chat, 1)
	var shown []string
	for _, item := range card.Items {
		var in struct{ Nonce string }
		must(t, json.Unmarshal(item.Arguments, &in))
		shown = append(shown, in.Nonce)
	}
	if d.tool.total() != 0 {
		t.Fatalf("ran %v", d.tool.ran())
	}
	d.ann.want(200, "POST", cardPath(chat, card), verdicts(card, "allow"))
	if status := d.ann.awaitEnd(chat, reply); status != events.Complete {
		t.Errorf("ended %s", status)
	}
	ran := slices.Sorted(maps.Keys(d.tool.ran()))
	slices.Sort(shown)
	if !slices.Equal(ran, shown) || d.tool.total() != len(shown) {
		t.Errorf("the card showed\n%q\nand there ran\n%q", shown, ran)
	}
	for _, nonce := range []string{"good", "<b>\u202e&\"'", "two\nlines", "just words", "quoted"} {
		if !slices.Contains(shown, nonce) {
			t.Errorf("%q is not on the card: %q", nonce, shown)
		}
	}
	told, tools := d.told("bad"), d.ann.transcript(chat).tools()
	for i, args := range slices.Sorted(maps.Keys(bad)) {
		id := callID(0, i)
		if bad[args] == "" { // bytes that are not text: it may be mended, and then the card shows it
			continue
		}
		if tools[id]["status"] != events.ToolError || !strings.Contains(told[id], bad[args]) {
			t.Errorf("%q: %v, the model was told %q", args, tools[id]["status"], told[id])
		}
	}
}

// TestToolsThatMisbehave: one that hangs, sends 100 MB, bytes or a page is
// bounded and said so, and the reply goes on.
func TestToolsThatMisbehave(t *testing.T) {
	d := newDesk(t)
	d.makeTool("slow", "read", 1)
	d.tool.does(func(w http.ResponseWriter, r *http.Request, nonce string) bool {
		switch nonce {
		case "hangs":
			<-r.Context().Done()
		case "trickles":
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, "."); err != nil {
					break
				}
				w.(http.Flusher).Flush()
			}
		case "huge":
			line := []byte(strings.Repeat("x", 1<<10-1) + "\n")
			for range 100 << 10 {
				if _, err := w.Write(line); err != nil {
					break
				}
			}
		case "bytes":
			_, _ = w.Write([]byte{0, 1, 2, 0xff, 0xfe, 0, 0x89, 'P', 'N', 'G'})
		case "page":
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<!doctype html><script>alert('from a tool')</script><h1>Page</h1>")
		case "gone":
			panic(http.ErrAbortHandler)
		case "fault":
			http.Error(w, strings.Repeat("no ", 1<<20), http.StatusInternalServerError)
		}
		return true
	})
	names := []string{"hangs", "trickles", "huge", "bytes", "page", "gone", "fault", "empty"}
	var all []planned
	for _, n := range names {
		all = append(all, calling("slow", n))
	}
	chat, reply := d.begin(once("wild", all...))
	if status := d.ann.awaitEnd(chat, reply); status != events.Complete || d.ann.transcript(chat).last().Content != "Done." {
		t.Errorf("ended %s", status)
	}
	told, shown := d.told("wild"), d.ann.transcript(chat).tools()
	for i, n := range names {
		want := map[string][2]string{"hangs": {events.ToolError, ""}, "huge": {events.ToolOK, "left out"}, "bytes": {events.ToolError, "not text"},
			"page": {events.ToolOK, "<h1>Page</h1>"}, "gone": {events.ToolError, "failed"}, "fault": {events.ToolError, "left out"}, "empty": {events.ToolOK, "empty"}}[n]
		id := callID(0, i)
		if n != "trickles" && shown[id]["status"] != want[0] || !strings.Contains(told[id], want[1]) || len(told[id]) == 0 || len(told[id]) > 64<<10 {
			t.Errorf("%s: %v, the model was told %d bytes: %.300q", n, shown[id]["status"], len(told[id]), told[id])
		}
		if size, _ := shown[id]["bytes"].(float64); size > 1<<20+1<<10 {
			t.Errorf("%s: %v bytes were kept", n, size)
		}
	}
	page := d.ann.do("GET", "/chat/"+chat, nil, "Accept", "text/html")
	if page.status != 200 || strings.Contains(string(page.body), "<script>alert('from a tool')") {
		t.Errorf("the page: %d, or a tool's markup in it", page.status)
	}
}
