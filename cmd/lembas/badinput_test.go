package main

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestBadInput: what cannot be used is answered with the right status and a
// problem document that names the field, and nothing comes into the log.
func TestBadInput(t *testing.T) {
	s := serve(t, dataDir(t), "--demo")
	ann, bob := s.person("ann@example.test", true), s.person("bob@example.test", false)
	chat, _ := ann.ask("demo-chat", "hello")
	ann.until(chat, "chat.renamed")
	message := ann.transcript(chat).Messages[0].ID
	theirs, their := bob.ask("demo-chat", "hello")
	bob.until(theirs, "chat.renamed")
	folder := text(bob.want(201, "POST", "/api/v1/folders", map[string]any{"name": "Bob's"})["id"])
	big := func(n int) string { return strings.Repeat("x", n) }
	type body = map[string]any
	before := mustCLI(t, "", "events", "--data", s.dir)
	for _, tc := range []struct {
		name, method, path string
		body               any
		status             int
		field              string
	}{
		{"cut off", "POST", "/chats", raw(`{"model":"demo-chat","text":"hel`), 400, ""},
		{"no object", "POST", "/chats", raw(`["hello"]`), 400, ""},
		{"nothing", "POST", "/chats", nil, 400, ""},
		{"two objects", "POST", "/chats", raw(`{"model":"demo-chat","text":"a"}{"text":"b"}`), 400, ""},
		{"nested too deep", "POST", "/chats", raw(strings.Repeat(`{"a":`, 20000) + "1" + strings.Repeat("}", 20000)), 400, ""},
		{"no UTF-8", "POST", "/chats", raw("{\"model\":\"demo-chat\",\"text\":\"\xff\xfe\"}"), 400, ""},
		{"twice the same", "POST", "/chats", raw(`{"model":"demo-chat","text":"a","text":"b"}`), 422, "text"},
		{"unknown member", "POST", "/chats", body{"model": "demo-chat", "text": "a", "colour": "red"}, 422, "colour"},
		{"wrong type", "POST", "/chats", body{"model": "demo-chat", "text": 5}, 422, "text"},
		{"no text", "POST", "/chats", body{"model": "demo-chat"}, 422, "text"},
		{"blank text", "POST", "/chats", body{"model": "demo-chat", "text": " \n\t "}, 422, "text"},
		{"unknown model", "POST", "/chats", body{"model": "gpt-none", "text": "a"}, 422, "model"},
		{"unknown folder", "POST", "/chats", body{"model": "demo-chat", "text": "a", "folder_id": "nothing"}, 422, "folder_id"},
		{"another's folder", "POST", "/chats", body{"model": "demo-chat", "text": "a", "folder_id": folder}, 422, "folder_id"},
		{"unknown kind", "POST", "/chats", body{"model": "demo-chat", "text": "a", "kind": "letter"}, 422, "kind"},
		{"a text of 1 MiB and a byte", "POST", "/chats", body{"model": "demo-chat", "text": big(1<<20 + 1)}, 413, ""},
		{"a body of 5 MiB", "POST", "/chats", body{"model": "demo-chat", "text": big(5 << 20)}, 413, ""},
		{"a long title", "PATCH", "/chats/" + chat, body{"title": big(201)}, 422, "title"},
		{"no title", "PATCH", "/chats/" + chat, body{"title": ""}, 422, "title"},
		{"another model", "PATCH", "/chats/" + chat, body{"model": "gpt-none"}, 422, "model"},
		{"no such chat", "GET", "/chats/nothing", nil, 404, ""},
		{"no such chat to write to", "POST", "/chats/nothing/messages", body{"text": "a"}, 404, ""},
		{"no such message", "POST", "/chats/" + chat + "/messages/nothing/edit", body{"text": "a"}, 404, ""},
		{"a message of another chat", "POST", "/chats/" + chat + "/messages/" + their + "/edit", body{"text": "a"}, 404, ""},
		{"no such reply", "POST", "/chats/" + chat + "/replies/nothing/regenerate", nil, 404, ""},
		{"a message that is not queued", "DELETE", "/chats/" + chat + "/messages/" + message, nil, 409, ""},
		{"another's chat", "GET", "/chats/" + theirs, nil, 404, ""},
		{"another's chat to change", "PATCH", "/chats/" + theirs, body{"title": "mine"}, 404, ""},
		{"another's chat to delete", "DELETE", "/chats/" + theirs, nil, 404, ""},
		{"another's chat to write to", "POST", "/chats/" + theirs + "/messages", body{"text": "a"}, 404, ""},
		{"another's chat to follow", "GET", "/chats/" + theirs + "/events", nil, 404, ""},
		{"another's chat among mine", "GET", "/events?chat=" + chat + "&chat=" + theirs, nil, 404, ""},
		{"another's chat to export", "GET", "/chats/" + theirs + "/export?format=md", nil, 404, ""},
		{"another's reply", "POST", "/chats/" + theirs + "/replies/" + their + "/regenerate", nil, 404, ""},
		{"another's folder to delete", "DELETE", "/folders/" + folder, nil, 404, ""},
		{"an id of nonsense", "GET", "/chats/%00%ff", nil, 404, ""},
		{"a path upwards", "GET", "/chats/..%2f..%2fetc%2fpasswd", nil, 404, ""},
		{"no such route", "GET", "/nothing", nil, 404, ""},
		{"the wrong verb", "PUT", "/chats", body{}, 405, ""},
		{"the wrong verb for one", "POST", "/chats/" + chat, body{}, 405, ""},
		{"a verb that is none", "BREW", "/chats", nil, 405, ""},
		{"an unknown format", "GET", "/chats/" + chat + "/export?format=pdf", nil, 422, "format"},
		{"a limit of nonsense", "GET", "/chats?limit=many", nil, 422, "limit"},
		{"a cursor of nonsense", "GET", "/chats?cursor=%00", nil, 422, "cursor"},
		{"an unknown setting", "PATCH", "/settings", body{"colour": "red"}, 422, "colour"},
		{"a setting out of bounds", "PATCH", "/settings", body{"limits.stream_idle": 0}, 422, "limits.stream_idle"},
		{"a setting of another type", "PATCH", "/settings", body{"signup": "no"}, 422, "signup"},
		{"an address of another scheme", "POST", "/connections", body{"name": "x", "base_url": "file:///etc/passwd"}, 422, "base_url"},
		{"an address without a scheme", "POST", "/connections", body{"name": "x", "base_url": "localhost:11434"}, 422, "base_url"},
		{"an address with a password", "POST", "/connections", body{"name": "x", "base_url": "http://u:p@127.0.0.1/v1"}, 422, "base_url"},
		{"no address", "POST", "/connections", body{"name": "x"}, 422, "base_url"},
		{"no name", "POST", "/connections", body{"base_url": "http://127.0.0.1:1/v1"}, 422, "name"},
		{"a key with a line break", "POST", "/connections", body{"name": "x", "base_url": "http://127.0.0.1:1/v1", "api_key": "a\r\nX-Evil: 1"}, 422, "api_key"},
		{"no such connection", "POST", "/connections/nothing/refresh", nil, 404, ""},
		{"no such model", "PATCH", "/models/nothing", body{"enabled": false}, 404, ""},
		{"a token of an unknown scope", "POST", "/tokens", body{"name": "x", "scope": "root"}, 422, "scope"},
		{"a token that has ended", "POST", "/tokens", body{"name": "x", "expires": "2001-01-01T00:00:00Z"}, 422, "expires"},
		{"a folder without a name", "POST", "/folders", body{"name": ""}, 422, "name"},
		{"an address of a person that is none", "POST", "/users", body{"email": "nonsense", "name": "x", "password": "correct horse battery"}, 422, "email"},
		{"a short password", "POST", "/users", body{"email": "eve@example.test", "name": "x", "password": "short"}, 422, "password"},
	} {
		got := ann.do(tc.method, "/api/v1"+tc.path, tc.body)
		var p struct {
			Title, Detail string
			Status        int
			Errors        []struct{ Field string }
		}
		if got.status != tc.status || got.header.Get("Content-Type") != "application/problem+json" || json.Unmarshal(got.body, &p) != nil ||
			p.Status != tc.status || p.Title == "" || p.Detail == "" {
			t.Errorf("%s: %d %s, want %d: %.300s", tc.name, got.status, got.header.Get("Content-Type"), tc.status, got.body)
			continue
		}
		if tc.field != "" && (len(p.Errors) != 1 || p.Errors[0].Field != tc.field) {
			t.Errorf("%s: names %v, want %s", tc.name, p.Errors, tc.field)
		}
		if tc.status == 405 && !strings.Contains(got.header.Get("Allow"), "GET") {
			t.Errorf("%s: Allow is %q", tc.name, got.header.Get("Allow"))
		}
	}
	if after := mustCLI(t, "", "events", "--data", s.dir); after != before {
		t.Errorf("the log grew:\n%s", strings.TrimPrefix(after, before))
	}
	// What is for administrators is not there for others.
	for path, status := range map[string]int{"/api/v1/connections": 404, "/api/v1/settings": 404, "/api/v1/users": 404} {
		if got := bob.do("GET", path, nil); got.status != status {
			t.Errorf("bob at %s: %d", path, got.status)
		}
		if got := (&client{t: t, url: s.url, http: bob.http}).do("GET", path, nil); got.status != 401 {
			t.Errorf("nobody at %s: %d", path, got.status)
		}
	}
}

// TestEndpointsThatAreNone: a connection whose endpoint is down, is a web page or
// answers nonsense is made (201) with no models and a reason in words.
func TestEndpointsThatAreNone(t *testing.T) {
	s := serve(t, dataDir(t))
	ann := s.person("ann@example.test", true)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	closed := "http://" + l.Addr().String() + "/v1"
	must(t, l.Close())
	page := func(status int, body string) string {
		w := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}))
		t.Cleanup(w.Close)
		return w.URL
	}
	for name, tc := range map[string]struct{ url, says string }{
		"nobody listens":   {closed, "refused"},
		"a web page":       {page(200, "<!doctype html><title>Router</title><h1>Sign in</h1>"), "web page"},
		"a page that says": {page(502, "<html><title>Bad Gateway</title></html>"), "502"},
		"other JSON":       {page(200, `{"hello":"world"}`), "not with a list of models"},
		"an error":         {page(401, `{"error":{"message":"no key was given"}}`), "no key was given"},
		"nothing":          {page(200, ""), "list of models"},
		"no such host":     {"http://nothing.invalid/v1", "nothing.invalid"},
	} {
		made := ann.want(201, "POST", "/api/v1/connections", map[string]any{"name": name, "base_url": tc.url})
		models, isList := made["models"].([]any)
		if !isList || len(models) != 0 || text(made["id"]) == "" || !strings.Contains(text(made["error"]), tc.says) {
			t.Errorf("%s: %v, want %q", name, made, tc.says)
		}
		got := ann.want(200, "GET", "/api/v1/connections/"+text(made["id"]), nil)
		if !strings.Contains(text(got["error"]), tc.says) {
			t.Errorf("%s, later: %v", name, got)
		}
	}
}

// TestOversizedRequests: a body is not read further than its bound, and a
// header that is too long or a body that never comes costs no more.
func TestOversizedRequests(t *testing.T) {
	s := serve(t, dataDir(t))
	ann := s.person("ann@example.test", true)
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	must(t, err)
	defer func() { _ = conn.Close() }()
	// A length of 1 TB with no more than its beginning: answered at once.
	_, err = io.WriteString(conn, "POST /api/v1/chats HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAuthorization: Bearer "+ann.token+
		"\r\nContent-Length: 1099511627776\r\n\r\n{\"text\":\""+strings.Repeat("x", 5<<20))
	must(t, err)
	head := make([]byte, 12)
	_, err = io.ReadFull(conn, head)
	must(t, err)
	if string(head) != "HTTP/1.1 413" {
		t.Errorf("1 TB: %q", head)
	}
	if got := ann.do("GET", "/api/v1/me", nil, "X-Long", strings.Repeat("x", 2<<20)); got.status != 431 {
		t.Errorf("a header of 2 MiB: %d", got.status)
	}
	if got := ann.do("GET", "/api/v1/chats?q="+strings.Repeat("x", 4<<10), nil); got.status/100 == 5 {
		t.Errorf("a long query: %d", got.status)
	}
}
