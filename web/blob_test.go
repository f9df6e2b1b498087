package web

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"lembas/events"
	"lembas/events/blob"
)

// keep puts bytes beside the log.
func (s *server) keep(data []byte) events.BlobRef {
	s.t.Helper()
	ref, put, err := blob.Put(data)
	if err != nil {
		s.t.Fatal(err)
	}
	_, err = s.log.Append(context.Background(), events.Batch{Actor: events.Actor{Kind: events.Model, ID: "m"}, Causation: "test", Puts: []events.Put{put},
		Parts: []events.Part{{Stream: "test/" + ref.Digest, Events: []events.New{{Payload: events.ToolProgressed{}}}}}})
	if err != nil {
		s.t.Fatal(err)
	}
	return ref
}

// called plays a call of a chat's reply with the whole output as a blob, and
// with pictures.
func (s *server) called(c created, call, output string, images ...events.Attachment) string {
	s.t.Helper()
	ref := s.keep([]byte(output))
	s.append(events.ChatStream(c.Chat), events.RoundStarted{Reply: c.Reply, Round: 2},
		events.ToolCalled{Reply: c.Reply, Round: 2, Call: call, Name: "fetch", Label: "Read a page", Detail: "https://example.test", Arguments: []byte(`{"url":"https://example.test"}`), Why: "to look", Risk: "read"},
		events.ToolFinished{Reply: c.Reply, Round: 2, Call: call, Status: events.ToolOK, Output: "head and tail", Bytes: ref.Size, Blob: &ref, MS: 7, Images: images,
			Sources: []events.Source{{Title: "A page", URL: "https://example.test/a"}}})
	return ref.Digest
}

func (s *server) blob(c created, output string) string { return s.called(c, "k1", output) }

// TestBlobs: a digest opens nothing by itself; what a chat refers to is for its
// owner, as an attachment that is what it is said to be.
func TestBlobs(t *testing.T) {
	s := newServer(t)
	root, ann, bob := s.register("root"), s.register("ann"), s.register("bob")
	s.connect(root)
	chat, other := s.chat(ann, "hello"), s.chat(ann, "other")
	mine := s.chat(bob, "of bob")
	png := []byte("\x89PNG\r\n\x1a\n<script>alert(1)</script>")
	page := []byte("<script>alert(1)</script>")
	file := func(name, mime string, data []byte) events.Attachment {
		return events.Attachment{ID: name, Name: name, Type: mime, Blob: s.keep(data)}
	}
	shot, trap := file("a.png", "image/png", png), file("a.svg", "image/svg+xml", page)
	digest := s.called(chat, "k1", strings.Repeat("whole ", 1000), shot, trap)
	stray := s.keep([]byte("nobody refers to it")).Digest

	for _, row := range []struct {
		who    *actor
		path   string
		status int
	}{
		{ann, digest + "?chat=" + chat.Chat, 200}, {ann, digest, 200}, {ann, digest + "?chat=" + other.Chat, 404}, {ann, digest + "?chat=" + mine.Chat, 404},
		{bob, digest + "?chat=" + chat.Chat, 404}, {bob, digest, 404}, {bob, digest + "?chat=" + mine.Chat, 404}, {root, digest + "?chat=" + chat.Chat, 404}, {root, digest, 404},
		{ann, stray + "?chat=" + chat.Chat, 404}, {ann, "zz?chat=" + chat.Chat, 404}, {ann, strings.ToUpper(digest) + "?chat=" + chat.Chat, 404},
		{nil, digest + "?chat=" + chat.Chat, 401},
	} {
		if got := s.do(row.who, "GET", "/api/v1/blobs/"+row.path, nil); got.status != row.status {
			t.Errorf("%v %s: %d, want %d", row.who, row.path, got.status, row.status)
		}
	}
	for _, row := range []struct {
		digest, mime, how string
		body              []byte
	}{
		{digest, "text/plain; charset=utf-8", "attachment", []byte(strings.Repeat("whole ", 1000))},
		{shot.Blob.Digest, "image/png", "inline", png},
		{trap.Blob.Digest, "text/plain; charset=utf-8", "attachment", page},
	} {
		got := s.do(ann, "GET", "/api/v1/blobs/"+row.digest+"?chat="+chat.Chat, nil)
		if got.header.Get("Content-Type") != row.mime || !strings.HasPrefix(got.header.Get("Content-Disposition"), row.how+";") || !bytes.Equal([]byte(got.body), row.body) {
			t.Errorf("%s: %v %.40q", row.mime, got.header, got.body)
		}
		if got.header.Get("X-Content-Type-Options") != "nosniff" || got.header.Get("Content-Security-Policy") != "default-src 'none'; sandbox" {
			t.Errorf("%s: %v", row.mime, got.header)
		}
	}
	s.do(ann, "DELETE", "/api/v1/chats/"+chat.Chat, nil)
	if got := s.do(ann, "GET", "/api/v1/blobs/"+digest+"?chat="+chat.Chat, nil); got.status != 404 {
		t.Errorf("after the chat is gone: %d", got.status)
	}
}

// TestCallsOfAChat: a call is told with all that a client needs to show it, and
// a card that waits with the payload that asked.
func TestCallsOfAChat(t *testing.T) {
	s := newServer(t)
	root, ann := s.register("root"), s.register("ann")
	s.connect(root)
	chat := s.chat(ann, "hello")
	digest := s.called(chat, "k1", "whole", events.Attachment{ID: "i", Name: "a.png", Type: "image/png", Blob: events.BlobRef{Digest: strings.Repeat("ab", 32), Size: 9}})
	item := events.ConsentItem{Key: "1", Call: "k2", Name: "fetch", Arguments: []byte(`{"url":"https://a.test"}`), Detail: "https://a.test", Risk: "read", Reason: "asks", Edits: "url", Pattern: "fetch"}
	ask := func(id string) events.Payload {
		return events.ConsentRequested{Consent: id, Reply: chat.Reply, Round: 2, Kind: events.ConsentApproval, Items: []events.ConsentItem{item}, Expires: "2030-01-01T00:00:00Z"}
	}
	s.append(events.ChatStream(chat.Chat), events.ToolCalled{Reply: chat.Reply, Round: 2, Call: "k2", Index: 1, Name: "fetch", Arguments: item.Arguments, Raw: string(item.Arguments)}, ask("c1"),
		events.ConsentAnswered{Consent: "c1", Answers: []events.ConsentAnswer{{Key: "1", Verdict: "allow", Arguments: []byte(`{"url":"https://b.test"}`)}}}, ask("c2"))
	var got struct {
		Status   string
		Messages []struct{ Tools []map[string]any }
		Pending  []events.ConsentRequested
	}
	s.do(ann, "GET", "/api/v1/chats/"+chat.Chat, nil).json(t, &got)
	tools := got.Messages[len(got.Messages)-1].Tools
	if len(tools) != 2 || got.Status != "waiting" || len(got.Pending) != 1 || got.Pending[0].Consent != "c2" || got.Pending[0].Items[0].Pattern != "fetch" {
		t.Fatalf("%+v", got)
	}
	for name, want := range map[string]any{"call": "k1", "name": "fetch", "label": "Read a page", "detail": "https://example.test", "risk": "read", "why": "to look", "status": "ok",
		"output": "head and tail", "bytes": 5.0, "blob": digest, "ms": 7.0} {
		if tools[0][name] != want {
			t.Errorf("%s is %v, want %v", name, tools[0][name], want)
		}
	}
	if x := tools[0]["sources"].([]any)[0].(map[string]any); x["url"] != "https://example.test/a" || x["title"] != "A page" {
		t.Errorf("source %v", x)
	}
	if x := tools[0]["images"].([]any)[0].(map[string]any); x["blob"] != strings.Repeat("ab", 32) || x["type"] != "image/png" || x["size"] != 9.0 {
		t.Errorf("image %v", x)
	}
	if x := tools[1]; x["edited"] != true || x["raw"] != string(item.Arguments) || x["arguments"].(map[string]any)["url"] != "https://b.test" || x["detail"] != nil && x["detail"] != "https://b.test" || x["status"] != "called" {
		t.Errorf("corrected %v", x)
	}
}

// TestMessagesTellWhatHappened: every call that a card asked about names its
// newest card, also one that never ran; what the person said meanwhile stands
// after the calls.
func TestMessagesTellWhatHappened(t *testing.T) {
	s := newServer(t)
	root, ann := s.register("root"), s.register("ann")
	s.connect(root)
	chat := s.chat(ann, "hello")
	asked := func(consent string, calls ...string) events.Payload {
		p := events.ConsentRequested{Consent: consent, Reply: chat.Reply, Round: 1, Kind: events.ConsentApproval, Expires: "2030-01-01T00:00:00Z"}
		for _, call := range calls {
			p.Items = append(p.Items, events.ConsentItem{Key: call, Call: call, Name: "fetch", Arguments: []byte(`{}`)})
		}
		return p
	}
	list := []events.Payload{events.RoundStarted{Reply: chat.Reply, Round: 1}}
	for _, call := range []string{"denied", "asked", "late", "gone", "again", "free"} {
		list = append(list, events.ToolCalled{Reply: chat.Reply, Round: 1, Call: call, Name: "fetch", Arguments: []byte(`{}`), Raw: "{}"})
	}
	over := func(call, status string) events.Payload {
		return events.ToolFinished{Reply: chat.Reply, Round: 1, Call: call, Status: status, Output: "x", Bytes: 1}
	}
	list = append(list, asked("c1", "denied", "asked", "again"),
		events.ConsentAnswered{Consent: "c1", Answers: []events.ConsentAnswer{{Key: "denied", Verdict: "deny"}, {Key: "asked", Verdict: "allow"}, {Key: "again", Verdict: "allow"}}},
		over("denied", events.ToolDenied), over("asked", events.ToolOK), asked("c2", "late"), events.ConsentExpired{Consent: "c2"}, over("late", events.ToolExpired),
		asked("c3", "gone"), events.ConsentWithdrawn{Consent: "c3", Reason: "stopped"}, over("gone", events.ToolStopped), over("free", events.ToolOK),
		events.MessageQueued{Message: "m2", Text: "also this"}, events.MessageDelivered{Message: "m2", Reply: chat.Reply, Round: 1}, asked("c4", "again"))
	s.append(events.ChatStream(chat.Chat), list...)
	var got struct {
		Messages []struct {
			ID, Role string
			Tools    []struct{ Call, Consent string }
		}
	}
	s.do(ann, "GET", "/api/v1/chats/"+chat.Chat, nil).json(t, &got)
	if len(got.Messages) != 3 || got.Messages[1].ID != chat.Reply || got.Messages[2].ID != "m2" || got.Messages[2].Role != "user" {
		t.Fatalf("%+v", got.Messages)
	}
	want := map[string]string{"denied": "c1", "asked": "c1", "late": "c2", "gone": "c3", "again": "c4", "free": ""}
	if len(got.Messages[1].Tools) != len(want) {
		t.Errorf("%+v", got.Messages[1].Tools)
	}
	for _, k := range got.Messages[1].Tools {
		if k.Consent != want[k.Call] {
			t.Errorf("%s names the card %q, want %q", k.Call, k.Consent, want[k.Call])
		}
	}
}
