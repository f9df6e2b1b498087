package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"lembas/events"
)

// TestWhatEndsAChatWithACardOrACall: a chat is deleted, its connection or model
// switched off or removed, its person disabled, while a card waits and while a
// call hangs. The card is withdrawn or the call stopped, with the reason; the
// reply ends; nothing runs any more (F45).
func TestWhatEndsAChatWithACardOrACall(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		end    func(d *desk, root *client, chat string)
	}{
		"the chat is deleted": {"deleted", func(d *desk, _ *client, chat string) {
			d.ann.want(204, "DELETE", "/api/v1/chats/"+chat, nil)
		}},
		"the connection is disabled": {"disabled", func(d *desk, root *client, _ string) {
			root.want(200, "PATCH", "/api/v1/connections/"+root.firstID("connections"), map[string]any{"enabled": false})
		}},
		"the connection is removed": {"disabled", func(d *desk, root *client, _ string) {
			root.want(204, "DELETE", "/api/v1/connections/"+root.firstID("connections"), nil)
		}},
		"the model is disabled": {"disabled", func(d *desk, root *client, _ string) {
			root.want(200, "PATCH", "/api/v1/models/"+root.firstID("models"), map[string]any{"enabled": false})
		}},
		"the person is disabled": {"disabled", func(d *desk, root *client, _ string) {
			root.want(200, "PATCH", "/api/v1/users/"+text(d.ann.want(200, "GET", "/api/v1/me", nil)["id"]), map[string]any{"disabled": true})
		}},
		"the tool is removed": {"", func(d *desk, root *client, _ string) {
			root.want(204, "DELETE", "/api/v1/tools/"+d.ids["press"], nil)
		}},
	} {
		for _, hang := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, hangs %t", name, hang), func(t *testing.T) {
				t.Parallel()
				d := newDesk(t)
				root := d.ann
				d.ann = d.s.person("bob@example.test", false)
				d.endsWith(t, root, tc.reason, hang, tc.end)
			})
		}
	}
}

// endsWith lets something end a chat that waits, or whose call hangs.
func (d *desk) endsWith(t *testing.T, root *client, reason string, hang bool, end func(d *desk, root *client, chat string)) {
	begun, left := make(chan struct{}), make(chan struct{})
	d.tool.does(hangs(begun, left))
	chat, reply := d.begin(once("ended", calling("press", "ended")))
	card := d.ann.card(chat, 1)
	if hang {
		d.ann.want(200, "POST", cardPath(chat, card), verdicts(card, "allow"))
		<-begun
	}
	begin := time.Now()
	end(d, root, chat)
	if reason == "" { // the reply does not depend on it
		d.without(t, chat, reply, card, hang, left)
		return
	}
	d.logHas(chat, "reply.finished")
	t.Logf("ended after %v", time.Since(begin))
	if hang {
		<-left
	}
	if a := d.ann.do("POST", cardPath(chat, card), verdicts(card, "allow")); a.status == 200 {
		t.Errorf("the card can still be answered: %s", a.body)
	}
	var withdrawn, stopped, over bool
	for _, e := range d.s.stored(chat) {
		switch e.Type {
		case "consent.withdrawn":
			withdrawn = payload[events.ConsentWithdrawn](t, e.AppendJSON(nil)).Reason == reason
		case "tool.finished":
			stopped = payload[events.ToolFinished](t, e.AppendJSON(nil)).Status == events.ToolStopped
		case "reply.finished":
			p := payload[events.ReplyFinished](t, e.AppendJSON(nil))
			over = p.Status == events.Stopped && (p.Reason == reason || hang && reason == "deleted" && p.Reason == "stopped")
		}
	}
	ran := 0
	if hang {
		ran = 1
	}
	if withdrawn == hang || !stopped || !over || d.tool.count("ended") != ran {
		t.Errorf("withdrawn %t, stopped %t, over %t, ran %d times", withdrawn, stopped, over, d.tool.count("ended"))
	}
}

// without goes on with a chat whose tool was removed: what waits is refused when
// it is allowed, what runs goes on until it is stopped.
func (d *desk) without(t *testing.T, chat, reply string, card events.ConsentRequested, hang bool, left chan struct{}) {
	if hang {
		d.ann.want(202, "POST", "/api/v1/chats/"+chat+"/stop", nil)
		<-left
		return
	}
	d.ann.want(200, "POST", cardPath(chat, card), verdicts(card, "allow"))
	if status := d.ann.awaitEnd(chat, reply); status != events.Complete || d.tool.total() != 0 {
		t.Errorf("ended %s, ran %v", status, d.tool.ran())
	}
	if got := d.ann.transcript(chat).tools()[callID(0, 0)]; got["status"] != events.ToolRefused || !strings.Contains(text(got["output"]), "switched off") {
		t.Errorf("%v", got)
	}
}

// logHas waits until the log has an event of a chat that its person can perhaps
// no longer see.
func (d *desk) logHas(chat, typ string) {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c := lembas(ctx, "follow", chat, "--data", d.s.dir)
	out, err := c.StdoutPipe()
	must(d.t, err)
	must(d.t, c.Start())
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 16<<20)
	for found := false; !found; {
		if !lines.Scan() {
			d.t.Fatalf("waiting for %s: %v", typ, lines.Err())
		}
		var e events.Envelope
		must(d.t, json.Unmarshal(lines.Bytes(), &e))
		found = e.Type == typ
	}
	_ = c.Process.Kill()
	_ = c.Wait()
}

// firstID is the id of the first of a list.
func (c *client) firstID(list string) string {
	c.t.Helper()
	items, _ := c.want(200, "GET", "/api/v1/"+list, nil)["items"].([]any)
	if len(items) == 0 {
		c.t.Fatalf("no %s", list)
	}
	return text(items[0].(map[string]any)["id"])
}
