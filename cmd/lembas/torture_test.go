package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"lembas/events"
)

// cycles is how often the server is killed: LEMBAS_TORTURE, or a few.
func cycles(t *testing.T) int {
	v := os.Getenv("LEMBAS_TORTURE")
	if v == "" {
		return 12
	}
	n, err := strconv.Atoi(v)
	must(t, err)
	return n
}

// shown is what a follower was shown of a chat: the envelope by its position.
type shown struct {
	mu   sync.Mutex
	seen map[events.Position]string
	last string // the newest cursor
}

func (s *shown) add(t *testing.T, e event) {
	var env events.Envelope
	if err := json.Unmarshal(e.data, &env); err != nil {
		t.Errorf("a frame that is no envelope: %v", err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if before, twice := s.seen[env.Position]; twice && before != string(e.data) {
		t.Errorf("position %d was shown as two events:\n%s\n%s", env.Position, before, e.data)
	}
	s.seen[env.Position] = string(e.data)
	s.last = e.id
}

// TestTortureKillsTheServerInMidReply kills the real server with SIGKILL at
// random moments of replies. What a follower had been shown is in the log,
// positions and versions have no gap, and every reply ends complete, once.
func TestTortureKillsTheServerInMidReply(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	if v := os.Getenv("LEMBAS_SEED"); v != "" {
		n, err := strconv.ParseUint(v, 10, 64)
		must(t, err)
		seed = n
	}
	t.Logf("LEMBAS_SEED=%d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	s := serve(t, dataDir(t))
	ann := s.person("ann@example.test", true)
	// The endpoint lives on, as a real one does, and answers in half a second.
	made := ann.want(201, "POST", "/api/v1/connections", map[string]any{"name": "quick", "base_url": startDemoAt(t, 6)})
	if made["error"] != nil {
		t.Fatal(made["error"])
	}
	saw := map[string]*shown{}
	replies := map[string]string{} // chat to reply
	n := cycles(t)
	for i := range n {
		res, err := ann.try("POST", "/api/v1/chats", map[string]any{"model": "demo-chat", "text": fmt.Sprintf("torture %d", i)}, "Idempotency-Key", fmt.Sprintf("t%d", i))
		must(t, err)
		if res.status != 201 {
			t.Fatalf("cycle %d: %d %s", i, res.status, res.body)
		}
		made := res.json(t)
		chat := text(made["chat_id"])
		replies[chat] = text(made["reply_id"])
		saw[chat] = &shown{seen: map[events.Position]string{}, last: "0"}
		for range 1 + rng.IntN(2) { // fewer than the restarts after which a reply is given up
			followThenKill(t, s, ann, chat, saw[chat], time.Duration(rng.Int64N(int64(700*time.Millisecond))))
			s.start()
		}
		if status := ann.awaitEnd(chat, replies[chat]); status != events.Complete {
			t.Errorf("chat %s ended %s", chat, status)
		}
	}
	for chat := range replies {
		compareWithLog(t, s, chat, saw[chat])
	}
	if out := mustCLI(t, "", "verify", "--data", s.dir); !strings.HasPrefix(out, "good: ") {
		t.Errorf("verify: %s", out)
	}
}

// followThenKill shows the chat to a follower for a while and kills the server.
func followThenKill(t *testing.T, s *server, c *client, chat string, saw *shown, wait time.Duration) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	started := make(chan struct{}, 1)
	go func() {
		defer close(done)
		_ = c.follow(ctx, chat, saw.last, func(e event) bool {
			if e.id != "" {
				saw.add(t, e)
				select {
				case started <- struct{}{}:
				default:
				}
			}
			return true
		}) // it ends when the server does
	}()
	select {
	case <-started:
	case <-done:
	case <-time.After(time.Second): // the reply had ended: there is nothing new to show
	}
	select {
	case <-time.After(wait): // the random moment is the test
	case <-done:
	}
	s.kill()
	cancel()
	<-done
	c.http.CloseIdleConnections()
}

func compareWithLog(t *testing.T, s *server, chat string, saw *shown) {
	t.Helper()
	stored := map[events.Position]events.Envelope{}
	ends, version := 0, events.Version(0)
	open, asked := map[string]bool{}, map[int]bool{}
	for _, e := range s.stored(chat) {
		stored[e.Position] = e
		if version++; e.Version != version {
			t.Errorf("chat %s: version %d where %d was due", chat, e.Version, version)
		}
		p, err := events.Decode(&e)
		must(t, err)
		switch p := p.(type) {
		case events.RoundStarted:
			if asked[p.Round] {
				t.Errorf("chat %s: round %d was asked twice", chat, p.Round)
			}
			asked[p.Round] = true
			open[strconv.Itoa(p.Round)] = true
		case events.RoundSuperseded:
			delete(open, strconv.Itoa(p.Round))
		case events.RoundFinished:
			delete(open, strconv.Itoa(p.Round))
		case events.ReplyFinished:
			ends++
		}
	}
	if ends != 1 || len(open) > 0 {
		t.Errorf("chat %s: %d ends, open rounds %v", chat, ends, slices.Collect(maps.Keys(open)))
	}
	for at, data := range saw.seen {
		e, ok := stored[at]
		if !ok || string(e.AppendJSON(nil)) != data {
			t.Errorf("chat %s: position %d was shown and the log has %q", chat, at, e.Type)
		}
	}
}
