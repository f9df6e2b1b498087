package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/cookiejar"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"lembas/events"
)

// frames reads an event stream until the function says enough or the server
// ends it. The raw lines are given back, too: what is not a frame counts.
func (c *client) frames(ctx context.Context, path string, each func(event) (more bool), headers ...string) (raw string, err error) {
	req, err := http.NewRequestWithContext(ctx, "GET", c.url+path, nil)
	if err != nil {
		return "", err
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	req.Header.Set("Accept", "text/event-stream")
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := c.http.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != 200 || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		return "", fmt.Errorf("status %d, %s", res.StatusCode, res.Header.Get("Content-Type"))
	}
	var lines strings.Builder
	in := bufio.NewReaderSize(res.Body, 1<<16)
	for e := (event{}); ; {
		line, err := in.ReadString('\n')
		if err == io.EOF && line == "" {
			return lines.String(), nil
		}
		if err != nil {
			return lines.String(), err
		}
		if lines.Len() < 1<<16 {
			lines.WriteString(line)
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "\n" && e.typ != "":
			if !each(e) {
				return lines.String(), nil
			}
			e = event{}
		case name == "id":
			e.id = value
		case name == "event":
			e.typ = value
		case name == "data":
			e.data = append(e.data, value...)
		}
	}
}

func eventsOf(chat string) string { return "/api/v1/chats/" + chat + "/events" }

// TestAHundredFollowersThatDrop: each drops at random and comes back with its
// last id, and has every event once and in order, while replies stream.
func TestAHundredFollowersThatDrop(t *testing.T) {
	const chats, each, pieces = 4, 25, 60
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	// The endpoint goes on when somebody was shown something, so that replies
	// last as long as followers come and go.
	shown := make(chan struct{}, 8)
	e := newEndpoint(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		for i := range pieces {
			says(w, fmt.Sprintf("piece %d. ", i))
			select {
			case <-shown:
			case <-r.Context().Done():
				return
			}
		}
		ends(w)
	})
	s := serve(t, dataDir(t))
	ann := s.person("ann@example.test", true)
	ann.connect(e, "")
	ann.want(200, "PATCH", "/api/v1/settings", map[string]any{"limits.gather_ms": 0})
	var ids [chats]string
	for i := range ids {
		ids[i], _ = ann.ask("m", fmt.Sprintf("chat %d", i))
	}
	var got [chats][each][]event
	var work sync.WaitGroup
	for i := range chats {
		for k := range each {
			rng := rand.New(rand.NewPCG(seed, uint64(i*each+k)))
			work.Go(func() { got[i][k] = dropAndResume(t, ann, ids[i], rng, shown) })
		}
	}
	work.Wait()
	for i, chat := range ids {
		stored := s.stored(chat)
		end := slices.IndexFunc(stored, func(e events.Envelope) bool { return e.Type == "reply.finished" })
		for k := range each {
			sameEvents(t, fmt.Sprintf("follower %d of chat %d", k, i), got[i][k], stored[:end+1])
		}
	}
}

// dropAndResume follows a chat to the end of its reply over many connections.
func dropAndResume(t *testing.T, c *client, chat string, rng *rand.Rand, shown chan<- struct{}) (all []event) {
	last, ended := "", false
	for tries := 0; !ended && tries < 1000; tries++ {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		left := 1 + rng.IntN(12)
		header, path := []string{"Last-Event-ID", last}, eventsOf(chat)
		switch {
		case last == "":
			header = nil
		case rng.IntN(2) == 0:
			header, path = nil, path+"?after="+last
		case rng.IntN(2) == 0:
			path += "?after=0" // Last-Event-ID wins
		}
		_, err := c.frames(ctx, path, func(e event) bool {
			if e.id == "" {
				return true
			}
			all, last = append(all, e), e.id
			select {
			case shown <- struct{}{}:
			default:
			}
			ended = e.typ == "reply.finished"
			left--
			return !ended && left > 0
		}, header...)
		cancel()
		if err != nil {
			t.Errorf("following: %v", err)
			return all
		}
	}
	return all
}

func sameEvents(t *testing.T, who string, got []event, want []events.Envelope) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s has %d events, want %d", who, len(got), len(want))
		return
	}
	for i, e := range got {
		if string(e.data) != string(want[i].AppendJSON(nil)) || e.typ != want[i].Type || !strings.HasSuffix(e.id, fmt.Sprintf(".%d", want[i].Position)) {
			t.Errorf("%s: event %d is %s %s, want position %d", who, i, e.id, e.data, want[i].Position)
			return
		}
	}
}

// TestAFollowerThatStopsReading is dropped, and costs nobody anything: the reply
// goes on to its end and another follower has all of it (F26, F27).
func TestAFollowerThatStopsReading(t *testing.T) {
	const pieces = 150
	stalled := make(chan struct{})
	e := newEndpoint(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		says(w, "go. ")
		<-stalled
		big := strings.Repeat("0123456789abcde\n", 4<<10) // 64 KiB
		for range pieces {
			says(w, big)
		}
		ends(w)
	})
	s := serve(t, dataDir(t))
	ann := s.person("ann@example.test", true)
	ann.connect(e, "")
	chat, reply := ann.ask("m", "hello")
	// A small receive buffer, so that the server's writes block soon.
	d := net.Dialer{Control: func(_, _ string, c syscall.RawConn) (err error) {
		failed := c.Control(func(fd uintptr) { err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096) })
		if err == nil {
			err = failed
		}
		return err
	}}
	conn, err := d.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	must(t, err)
	defer func() { _ = conn.Close() }()
	_, err = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: lembas\r\nAuthorization: Bearer %s\r\n\r\n", eventsOf(chat), ann.token)
	must(t, err)
	_, err = bufio.NewReaderSize(conn, 64).ReadString('\n') // it has begun; nothing more is read
	must(t, err)
	close(stalled)
	if status := ann.awaitEnd(chat, reply); status != events.Complete {
		t.Errorf("the reply ended %s", status)
	}
	for deadline := time.Now().Add(time.Minute); heldBy(t, conn); {
		if time.Now().After(deadline) {
			t.Fatal("the server still holds the connection of a reader that stopped")
		}
		ann.want(200, "GET", "/api/v1/me", nil) // meanwhile others are served
	}
}

// heldBy says whether the other end of a connection still has its descriptor.
func heldBy(t *testing.T, conn net.Conn) bool {
	t.Helper()
	b, err := os.ReadFile("/proc/net/tcp")
	must(t, err)
	port := func(a net.Addr) string { return fmt.Sprintf(":%04X", a.(*net.TCPAddr).Port) }
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) > 9 && strings.HasSuffix(f[1], port(conn.RemoteAddr())) && strings.HasSuffix(f[2], port(conn.LocalAddr())) {
			return f[9] != "0" // the inode
		}
	}
	return false
}

// TestCursorsOfNoUse: one frame that says reset, with status 200, and the end;
// then a whole stream from the start works.
func TestCursorsOfNoUse(t *testing.T) {
	s := serve(t, dataDir(t), "--demo")
	ann := s.person("ann@example.test", true)
	chat, reply := ann.ask("demo-chat", "hello")
	ann.awaitEnd(chat, reply)
	first := ""
	_, err := ann.frames(t.Context(), eventsOf(chat), func(e event) bool { first = e.id; return e.id == "" })
	must(t, err)
	epoch, _, ok := strings.Cut(first, ".")
	if !ok {
		t.Fatalf("the first id is %q", first)
	}
	for cursor, reason := range map[string]string{
		"garbage": "bad", epoch + ".": "bad", epoch + ".-1": "bad", epoch + ".1.2": "foreign", "99999999": "future", epoch + ".99999999": "future",
		epoch + ".18446744073709551615": "future", epoch + ".18446744073709551616": "bad", "aaaaaaaaaaaaaaaa.3": "foreign", "<script>.3": "foreign",
		strings.Repeat("9", 5000): "bad",
	} {
		for _, path := range []string{eventsOf(chat), "/api/v1/events?chat=" + chat} {
			var got []event
			raw, err := ann.frames(t.Context(), path, func(e event) bool { got = append(got, e); return true }, "Last-Event-ID", cursor)
			want := fmt.Sprintf("event: reset\ndata: {\"reason\":%q}\n\n", reason)
			if err != nil || len(got) != 1 || strings.TrimPrefix(raw, ": ok\n\n") != want {
				t.Errorf("%.40q at %s: %v, %q, want %q", cursor, path, err, raw, want)
			}
		}
	}
	var pinged event
	_, err = ann.frames(t.Context(), eventsOf(chat), func(e event) bool { pinged = e; return e.typ != "ping" })
	var ping struct{ Position events.Position }
	if err != nil || pinged.id != "" || json.Unmarshal(pinged.data, &ping) != nil || ping.Position < 2 {
		t.Errorf("a ping is %v, %+v", err, pinged)
	}
}

// TestStreamsEndWithTheRight: a stream ends by itself, with a reason and before
// its next ping, when its session or token, its person or its chat is gone.
func TestStreamsEndWithTheRight(t *testing.T) {
	s := serve(t, dataDir(t), "--demo")
	ann := s.person("ann@example.test", true)
	for _, tc := range []struct {
		name, reason string
		by           func(t *testing.T, bob *client) *client // how bob comes
		act          func(bob, as *client, chat string)
	}{
		{"logout", "signed_out", signedIn, func(_, as *client, _ string) { as.do("POST", "/auth/logout", nil) }},
		{"session revoked", "signed_out", signedIn, func(bob, _ *client, _ string) {
			all, _ := bob.want(200, "GET", "/api/v1/sessions", nil)["items"].([]any)
			for _, x := range all {
				bob.do("DELETE", "/api/v1/sessions/"+text(x.(map[string]any)["id"]), nil)
			}
		}},
		{"token revoked", "signed_out", nil, func(bob, _ *client, _ string) {
			all, _ := bob.want(200, "GET", "/api/v1/tokens", nil)["items"].([]any)
			for _, x := range all {
				bob.do("DELETE", "/api/v1/tokens/"+text(x.(map[string]any)["id"]), nil)
			}
		}},
		{"disabled", "signed_out", nil, func(bob, _ *client, _ string) {
			id := text(bob.want(200, "GET", "/api/v1/me", nil)["id"])
			ann.want(200, "PATCH", "/api/v1/users/"+id, map[string]any{"disabled": true})
		}},
		{"chat deleted", "deleted", nil, func(bob, _ *client, chat string) {
			if got := bob.do("DELETE", "/api/v1/chats/"+chat, nil); got.status/100 != 2 {
				bob.t.Errorf("deleting: %d", got.status)
			}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			bob := s.person(strings.ReplaceAll(tc.name, " ", "-")+"@example.test", false)
			bob.t = t
			chat, reply := bob.ask("demo-chat", "hello")
			bob.awaitEnd(chat, reply)
			as := bob
			if tc.by != nil {
				as = tc.by(t, bob)
			}
			var got []string
			var acted time.Time
			_, err := as.frames(t.Context(), eventsOf(chat), func(e event) bool {
				switch {
				case e.typ == "ping" && len(got) == 0: // it is up to date
					got = append(got, "ping")
					tc.act(bob, as, chat)
					acted = time.Now()
				case e.typ == "ping" || e.typ == "end":
					got = append(got, e.typ+string(e.data))
				}
				return true
			})
			if want := []string{"ping", fmt.Sprintf(`end{"reason":%q}`, tc.reason)}; err != nil || !slices.Equal(got, want) {
				t.Errorf("%v: %v, want %v", err, got, want)
			}
			// It is looked at every 900 ms; a ping, where it would be noticed
			// anyway, comes after 10 s.
			if took := time.Since(acted); took > 6*time.Second {
				t.Errorf("it ended after %v", took)
			}
		})
	}
}

// signedIn is the same person with a browser's cookie.
func signedIn(t *testing.T, bob *client) *client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	must(t, err)
	as := &client{t: t, url: bob.url, http: &http.Client{Jar: jar}}
	email := text(bob.want(200, "GET", "/api/v1/me", nil)["email"])
	if got := as.do("POST", "/auth/login", map[string]any{"email": email, "password": "correct horse battery"}); got.status != 200 || bytes.Contains(got.body, []byte("lembas_session")) {
		t.Fatalf("signing in: %d %s", got.status, got.body)
	}
	return as
}
