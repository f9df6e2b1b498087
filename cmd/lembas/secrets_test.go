package main

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
)

// spill is all that a session gave away: answers, pages, streams, exports, logs.
type spill struct {
	t    *testing.T
	text map[string]string
}

func (s *spill) add(where, text string) { s.text[where] += text }

// search looks for a marker, as it is, in hex and escaped for an address.
func (s *spill) search(marker string) (places []string) {
	for where, text := range s.text {
		for _, form := range []string{marker, hex.EncodeToString([]byte(marker)), url.QueryEscape(marker)} {
			if strings.Contains(text, form) {
				places = append(places, where)
				break
			}
		}
	}
	return places
}

// addTree adds every byte of a directory.
func (s *spill) addTree(dir string) {
	must(s.t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || d.Name() == "ballast" {
			return err
		}
		b, err := os.ReadFile(path)
		s.add("file "+d.Name(), string(b))
		return err
	}))
}

// addRows adds the rows of a log, which lie compressed in its files.
func (s *spill) addRows(dir string) {
	db, err := pebble.Open(filepath.Join(dir, "log"), &pebble.Options{ReadOnly: true, Logger: quietPebble{}})
	must(s.t, err)
	defer func() { must(s.t, db.Close()) }()
	it, err := db.NewIter(nil)
	must(s.t, err)
	for it.First(); it.Valid(); it.Next() {
		s.add("row "+string(it.Key()[:1]), string(it.Key())+"\x00"+string(it.Value())+"\n")
	}
	must(s.t, it.Close())
}

// mean answers so that the key comes back in all ways: what is asked for says
// which.
func mean(key string) func(int, http.ResponseWriter, *http.Request) {
	half := len(key) / 2
	return func(n int, w http.ResponseWriter, _ *http.Request) {
		piece := func(format string, a ...any) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprintf(w, "data: "+format+"\n\n", a...)
			w.(http.Flusher).Flush()
		}
		switch n {
		case 1:
			says(w, "Your key is "+key[:half], key[half:]+", is it not? ", key)
			ends(w)
		case 2:
			piece(`{"choices":[{"delta":{"reasoning_content":"It is %s"}}]}`, key[:half])
			piece(`{"choices":[{"delta":{"reasoning_content":"%s."}}]}`, key[half:])
			piece(`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"%s","function":{"name":"tell_%s","arguments":"{\"key\":\"%s"}}]}}]}`, key, key, key[:half])
			piece(`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"%s\"}"}}]}}]}`, key[half:])
			piece(`{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}`)
			_, _ = io.WriteString(w, "data: [DONE]\n\n")
		case 3: // after the call that was refused
			says(w, "So be it.")
			ends(w)
		case 4:
			http.Error(w, `{"error":{"message":"Incorrect API key provided: `+key+`","code":"`+key+`"}}`, http.StatusUnauthorized)
		case 5:
			piece(`{"error":{"message":"no %s"}}`, key)
		case 6:
			_, _ = io.WriteString(w, "<html><title>"+key+"</title>"+key)
		case 7:
			w.Header().Set("Location", "/v1/"+key)
			w.WriteHeader(http.StatusTemporaryRedirect)
		default:
			piece(`{"choices":[{"delta":{"content":"cut %s`, key)
		}
	}
}

// TestSecretsAreNowhere (EV-12) plants an API key, passwords, a cookie, tokens and
// the master key, lets everything go wrong with them that can, and then searches
// every byte of the data directory, the log's rows, the server's output, answers,
// pages, streams and exports.
func TestSecretsAreNowhere(t *testing.T) {
	const (
		key      = "sk-MARKER-of-an-api-key-7Fq2"
		second   = "sk-MARKER-of-a-key-that-is-refused-81"
		password = "correct MARKER battery"
		newer    = "correct MARKER battery, the second"
		typo     = "korrect MARKER battery"
		visible  = "a word that may be seen 5518"
	)
	s := &spill{t: t, text: map[string]string{}}
	master := strings.TrimSpace(mustCLI(t, "", "secret-key"))
	dir := dataDir(t)
	srv := serveWith(t, []string{"LEMBAS_SECRET_KEY=" + master}, dir, "--log-level", "debug")
	jar, err := cookiejar.New(nil)
	must(t, err)
	ann := &client{t: t, url: srv.url, http: &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	say := func(method, path string, body any, headers ...string) answer {
		got := ann.do(method, path, body, headers...)
		s.add(method+" "+path, string(got.body))
		return got
	}
	// Accounts: passwords that are right, wrong, in the wrong field and in bodies that cannot be read.
	for _, body := range []any{
		map[string]any{"email": "ann@example.test", "password": password}, map[string]any{"email": "ann@example.test", "password": typo},
		map[string]any{"email": password, "password": password}, map[string]any{"email": "ann@example.test", "password": []string{password}},
		password,
	} {
		say("POST", "/auth/register", body)
		say("POST", "/auth/login", body)
	}
	ann.do("POST", "/auth/login", map[string]any{password: password}) // whoever sent a field's name is told it
	if got := say("GET", "/api/v1/me", nil); got.status != 200 {
		t.Fatalf("signing up: %d %s", got.status, got.body)
	}
	form := url.Values{"current": {password}, "password": {newer}, "repeat": {newer}}
	res, err := ann.http.PostForm(ann.url+"/settings/password", form) // refused: no Origin
	must(t, err)
	must(t, res.Body.Close())
	req, err := http.NewRequest("POST", ann.url+"/settings/password", strings.NewReader(form.Encode()))
	must(t, err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Origin", ann.url)
	res, err = ann.http.Do(req)
	must(t, err)
	page, err := io.ReadAll(res.Body)
	must(t, err)
	must(t, res.Body.Close())
	s.add("password form", string(page))
	if got := ann.do("POST", "/auth/login", map[string]any{"email": "ann@example.test", "password": newer}); got.status != 200 && got.status != 409 {
		t.Fatalf("the password was not changed: %d %s", got.status, got.body)
	}
	here, err := url.Parse(ann.url)
	must(t, err)
	cookie := jar.Cookies(here)[0].Value
	token := text(ann.want(201, "POST", "/api/v1/tokens", map[string]any{"name": "laptop", "scope": "admin"})["token"])
	other := strings.TrimSpace(mustCLI(t, "", "token", "create", "--data", dir, "--user", "ann@example.test"))
	say("GET", "/api/v1/me", nil, "Authorization", "Bearer "+token+"x") // wrong by a letter
	say("GET", "/api/v1/me?token="+token[len(token)-8:], nil, "Authorization", "Bearer "+other)

	// Endpoints.
	e := newEndpoint(t, mean(key))
	made := say("POST", "/api/v1/connections", map[string]any{"name": "mean", "base_url": e.URL + "/v1", "api_key": key}).json(t)
	id := text(made["id"])
	say("POST", "/api/v1/connections", map[string]any{"name": "", "base_url": e.URL, "api_key": second})
	say("POST", "/api/v1/connections", map[string]any{"name": "x", "base_url": e.URL, "api_key": second + "\n"})
	say("POST", "/api/v1/connections", map[string]any{"name": "x", "base_url": "http://u:" + second + "@127.0.0.1/v1"})
	say("PATCH", "/api/v1/connections/"+id, map[string]any{"base_url": "http://127.0.0.1:1/v1"}) // would take the key elsewhere
	echo := newEndpoint(t, nil)
	echo.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, `{"data":[{"id":"m2"},{"id":"named %s"}]}`, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	})
	say("POST", "/api/v1/connections", map[string]any{"name": "echo", "base_url": echo.URL + "/v1", "api_key": key})
	down := newEndpoint(t, nil)
	down.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "no "+r.Header.Get("Authorization"), http.StatusForbidden)
	})
	if got := say("POST", "/api/v1/connections", map[string]any{"name": "down", "base_url": down.URL + "/v1", "api_key": key}); got.status != 201 {
		t.Errorf("an endpoint that refuses: %d %s", got.status, got.body)
	}
	// Replies.
	for i := range 7 {
		got := say("POST", "/api/v1/chats", map[string]any{"model": "m", "text": fmt.Sprintf("%s, question %d", visible, i)}, "Idempotency-Key", fmt.Sprint(i))
		chat := text(got.json(t)["chat_id"])
		ann.awaitEnd(chat, text(got.json(t)["reply_id"]))
		for _, path := range []string{"", "/export?format=md", "/export?format=json", "/export?format=html", "/export?format=jsonl"} {
			say("GET", "/api/v1/chats/"+chat+path, nil)
		}
		say("GET", "/chat/"+chat, nil, "Accept", "text/html")
		raw, err := ann.frames(t.Context(), eventsOf(chat), func(e event) bool { return e.typ != "ping" })
		must(t, err)
		s.add("stream", raw)
	}
	if n := e.count(); n != 8 {
		t.Errorf("the endpoint was asked %d times: not all its ways were tried:\n%s", n, bytes.Join(e.asked, []byte("\n")))
	}
	for _, path := range []string{"/api/v1/me", "/api/v1/sessions", "/api/v1/tokens", "/api/v1/connections", "/api/v1/connections/" + id, "/api/v1/models",
		"/api/v1/settings", "/api/v1/users", "/api/v1/chats", "/api/v1/openapi.json", "/metrics"} {
		if got := say("GET", path, nil, "Authorization", "Bearer "+token); got.status != 200 {
			t.Errorf("GET %s: %d", path, got.status)
		}
	}
	for _, path := range []string{"/", "/settings", "/admin/connections", "/admin/connections/" + id, "/admin/models", "/admin/users", "/admin/settings"} {
		if got := say("GET", path, nil, "Accept", "text/html"); got.status != 200 {
			t.Errorf("GET %s: %d", path, got.status)
		}
	}
	for _, args := range [][]string{{"info"}, {"events"}, {"export", "--all", "--format", "jsonl"}, {"export", "--all", "--format", "html"}, {"token", "list", "--user", "ann@example.test"}} {
		s.add(strings.Join(args, " "), mustCLI(t, "", append(args, "--data", dir)...))
	}
	copied := filepath.Join(t.TempDir(), "copy")
	mustCLI(t, "", "backup", copied, "--data", dir)
	s.addTree(dir)
	must(t, srv.stop())
	s.addTree(dir)
	s.addRows(dir)
	s.addTree(copied)
	srv.mu.Lock()
	s.add("the server's output", srv.log.String())
	srv.mu.Unlock()

	if places := s.search(visible); len(places) < 10 || !bytes.Contains([]byte(strings.Join(places, "\n")), []byte("row e")) {
		t.Errorf("the search finds what may be seen only in %v", places)
	}
	for name, marker := range map[string]string{"API key": key, "half an API key": key[len(key)/2:], "refused API key": second, "password": password, "typo": typo,
		"cookie": cookie, "its secret": last(cookie, "."), "token": token, "the token's secret": last(token, "."), "other token": other, "master key": master} {
		if places := s.search(marker); len(marker) < 12 || len(places) > 0 {
			t.Errorf("the %s (%d bytes) is in %v", name, len(marker), places)
		}
	}
}

// last is what stands behind the last separator.
func last(s, separator string) string { return s[strings.LastIndex(s, separator)+1:] }
