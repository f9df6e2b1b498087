package mcp

import (
	"cmp"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"lembas/commands/tools"
	"lembas/events"
)

const okResult = `{"content":[{"type":"text","text":"fine"}]}`

// TestACallIsRepeatedOnlyWhereItDidNotRun: 404 for a known session is the one
// answer that says so.
func TestACallIsRepeatedOnlyWhereItDidNotRun(t *testing.T) {
	status := func(code int, body string) func(http.ResponseWriter, message) {
		return func(w http.ResponseWriter, _ message) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
		}
	}
	cut := func(w http.ResponseWriter, _ message) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_ = conn.Close()
		}
	}
	half := func(w http.ResponseWriter, _ message) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, ": a stream that ends without an answer\n\n")
	}
	for name, c := range map[string]struct {
		session string
		first   func(http.ResponseWriter, message)
		calls   int
		says    string
	}{
		"forgotten":             {"s1", status(404, ""), 2, "fine"},
		"forgotten, with an id": {"s1", status(404, `{"jsonrpc":"2.0","id":2,"error":{"code":-32001,"message":"Session not found"}}`), 2, "fine"},
		"forgotten, without":    {"s1", status(404, `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}`), 2, "fine"},
		"404 without a session": {"", status(404, ""), 1, "status 404"},
		"400":                   {"s1", status(400, ""), 1, "status 400"},
		"401":                   {"s1", status(401, ""), 1, "does not accept who asks"},
		"500":                   {"s1", status(500, ""), 1, "not known"},
		"503":                   {"s1", status(503, ""), 1, "not known"},
		"429":                   {"s1", status(429, ""), 1, "status 429"},
		"connection cut":        {"s1", cut, 1, "not known"},
		"stream without answer": {"s1", half, 1, "not known"},
		"an error of its own": {"s1", func(w http.ResponseWriter, m message) {
			status(200, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"error":{"code":-32001,"message":"Session not found"}}`)(w, m)
		}, 1, "Session not found"},
		"an answer to another":    {"s1", status(200, `{"jsonrpc":"2.0","id":77,"result":{}}`), 1, "in time"},
		"a page":                  {"s1", func(w http.ResponseWriter, _ message) { _, _ = io.WriteString(w, "<html>hello</html>") }, 1, "could not be read"},
		"accepted and no more":    {"s1", status(202, ""), 1, "not known"},
		"JSON that is no message": {"s1", status(200, `[]`), 1, "could not be read"},
	} {
		t.Run(name, func(t *testing.T) {
			first := true
			f := newFake(t, func(w http.ResponseWriter, _ *http.Request, m message) {
				if m.Method == "tools/call" && first {
					first = false
					c.first(w, m)
					return
				}
				reply(w, m, okResult)
			})
			f.session = c.session
			st := at(f.URL)
			if c.says == "in time" {
				st.Timeout = 1
			}
			r := run(t, st, "x", `{}`)
			status := events.ToolError
			if c.calls == 2 {
				status = events.ToolOK
			}
			if want(t, r, status, c.says); f.got("tools/call") != c.calls {
				t.Errorf("called %d times, want %d", f.got("tools/call"), c.calls)
			}
		})
	}
}

func TestAServerThatForgetsEverySession(t *testing.T) {
	f := newFake(t, func(w http.ResponseWriter, _ *http.Request, _ message) { w.WriteHeader(http.StatusNotFound) })
	if want(t, run(t, at(f.URL), "x", `{}`), events.ToolError, "status 404"); f.got("tools/call") != 2 {
		t.Errorf("called %d times", f.got("tools/call"))
	}
}

// TestServersThatDoNotKnowTheNewestProtocol answer its first question with all
// sorts of things.
func TestServersThatDoNotKnowTheNewestProtocol(t *testing.T) {
	for name, discover := range map[string]func(http.ResponseWriter){
		"page":     func(w http.ResponseWriter) { _, _ = io.WriteString(w, "<html>") },
		"accepted": func(w http.ResponseWriter) { w.WriteHeader(http.StatusAccepted) },
		"empty": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
		},
		"404": func(w http.ResponseWriter) { w.WriteHeader(http.StatusNotFound) },
		"500": func(w http.ResponseWriter) { w.WriteHeader(http.StatusInternalServerError) },
	} {
		t.Run(name, func(t *testing.T) {
			f := callAnswer(t, okResult)
			f.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if strings.Contains(string(body), "server/discover") {
					discover(w)
					return
				}
				r.Body = io.NopCloser(strings.NewReader(string(body)))
				f.ServeHTTP(w, r)
			})
			wantOK(t, run(t, at(f.URL), "x", `{}`), "fine")
		})
	}
}

func TestAnswersThatAreTooLarge(t *testing.T) {
	flood := func(w io.Writer, n int) {
		chunk := strings.Repeat("x", 1<<20)
		for range n {
			if _, err := io.WriteString(w, chunk); err != nil {
				return
			}
		}
	}
	jsonHead := func(w http.ResponseWriter, m message) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":{"content":[{"type":"text","text":"`)
	}
	for name, answer := range map[string]func(http.ResponseWriter, message){
		"100 MB of JSON": func(w http.ResponseWriter, m message) { jsonHead(w, m); flood(w, 100) },
		"100 MB packed": func(w http.ResponseWriter, m message) {
			w.Header().Set("Content-Encoding", "gzip")
			w.Header().Set("Content-Type", "application/json")
			z := gzip.NewWriter(w)
			_, _ = io.WriteString(z, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":{"content":[{"type":"text","text":"`)
			flood(z, 100)
			_ = z.Close()
		},
		"100 MB in one event": func(w http.ResponseWriter, _ message) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: ")
			flood(w, 100)
		},
		"comments without end": func(w http.ResponseWriter, _ message) {
			w.Header().Set("Content-Type", "text/event-stream")
			for {
				if _, err := io.WriteString(w, ":"+strings.Repeat(" ", 60<<10)+"\n\n"); err != nil {
					return
				}
			}
		},
		"100 MB of an error page": func(w http.ResponseWriter, _ message) { w.WriteHeader(400); flood(w, 100) },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, func(w http.ResponseWriter, _ *http.Request, m message) { answer(w, m) })
			if want(t, run(t, at(f.URL), "x", `{}`), events.ToolError, "larger than 16 MB"); f.got("tools/call") != 1 {
				t.Errorf("called %d times", f.got("tools/call"))
			}
			if _, err := client().List(t.Context(), at(f.URL), nil); err == nil || !strings.Contains(err.Error(), "larger than 16 MB") {
				t.Errorf("listing: %v", err)
			}
		})
	}
}

func TestListsThatDoNotEnd(t *testing.T) {
	for name, next := range map[string]func(n int) string{
		"the same page for ever": func(int) string { return "again" },
		"a new page for ever":    func(n int) string { return fmt.Sprint(n) },
	} {
		t.Run(name, func(t *testing.T) {
			n := 0
			f := newFake(t, func(w http.ResponseWriter, _ *http.Request, m message) {
				n++
				reply(w, m, fmt.Sprintf(`{"tools":[{"name":"t%d","inputSchema":{}},{"name":"same","inputSchema":{}}],"nextCursor":%q}`, n, next(n)))
			})
			found := list(t, f.URL)
			if most := map[string]int{"again": 2}[next(1)]; len(found) == 0 || f.got("tools/list") > cmp.Or(most, maxPages) {
				t.Errorf("%d tools of %d pages", len(found), f.got("tools/list"))
			}
			if i := slices.Index(names(found), "same"); i < 0 || slices.Contains(names(found)[i+1:], "same") {
				t.Errorf("a name twice: %q", names(found))
			}
		})
	}
}

// TestAListFitsOneEvent: the log takes 4 MB.
func TestAListFitsOneEvent(t *testing.T) {
	var all []string
	for i := range 200 {
		all = append(all, fmt.Sprintf(`{"name":"t%d","description":%q,"inputSchema":{"properties":{%s"z":{}}}}`, i, strings.Repeat("<", 2000), manyProperties(140)))
	}
	b, err := json.Marshal(list(t, listAnswer(t, `[`+strings.Join(all, ",")+`]`).URL))
	if err != nil || len(b) > MaxList+MaxTools || len(b) < MaxList/2 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
}

func manyProperties(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"p%d%s":{},`, i, strings.Repeat("x", 90))
	}
	return b.String()
}

// TestNoStandingStreamIsOpened: a server that never answered it would hold every
// call, and the SDK cannot end it.
func TestNoStandingStreamIsOpened(t *testing.T) {
	f := callAnswer(t, okResult)
	inner := f.Config.Handler
	f.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			t.Error("a GET")
		}
		inner.ServeHTTP(w, r)
	})
	wantOK(t, run(t, at(f.URL), "x", `{}`), "fine")
}

// TestAServerThatDoesNotLetGo: neither the DELETE nor the answer to its own
// question holds who called.
func TestAServerThatDoesNotLetGo(t *testing.T) {
	gone := make(chan string, 2)
	hold := func(r *http.Request, what string) {
		<-r.Context().Done()
		gone <- what
	}
	f := newFake(t, nil)
	f.answer = func(w http.ResponseWriter, r *http.Request, m message) {
		if m.Method == "" { // our refusal of what it asked
			if len(m.Error) == 0 {
				t.Errorf("it was answered %s", m.Result)
			}
			hold(r, "answer")
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object"}}}`+"\n\n")
		_ = http.NewResponseController(w).Flush()
		for f.got("") == 0 { // until the refusal is under way
			if r.Context().Err() != nil {
				return
			}
		}
		_, _ = io.WriteString(w, `data: {"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":`+okResult+"}\n\n")
	}
	inner := f.Config.Handler
	f.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			hold(r, "DELETE")
			return
		}
		inner.ServeHTTP(w, r)
	})
	c := client()
	c.farewell = 50 * time.Millisecond
	wantOK(t, one(t, c, at(f.URL), "x").Run(t.Context(), tools.Call{ID: "c1"}), "fine")
	<-gone // and what hung ends, too
}

// TestAServerThatAsksIsRefused: but a ping is answered.
func TestAServerThatAsksIsRefused(t *testing.T) {
	asks := map[string]bool{"sampling/createMessage": false, "elicitation/create": false, "roots/list": false, "ping": true, "own/thing": false}
	answered := make(chan message, len(asks))
	f := newFake(t, func(w http.ResponseWriter, r *http.Request, m message) {
		if m.Method == "" {
			answered <- m
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for method := range asks {
			_, _ = fmt.Fprintf(w, `data: {"jsonrpc":"2.0","id":%q,"method":%q,"params":{"message":"your password?","messages":[],"maxTokens":5,"requestedSchema":{"type":"object"}}}`+"\n\n", method, method)
		}
		_ = http.NewResponseController(w).Flush()
		for range asks {
			select {
			case a := <-answered:
				var method string
				if _ = json.Unmarshal(a.ID, &method); asks[method] != (len(a.Error) == 0) || len(a.Error) == 0 && string(a.Result) != "{}" {
					t.Errorf("%s was answered %s%s", method, a.Result, a.Error)
				}
			case <-r.Context().Done():
				return
			}
		}
		_, _ = io.WriteString(w, `data: {"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":`+okResult+"}\n\n")
	})
	wantOK(t, run(t, at(f.URL), "x", `{}`), "fine")
}

func TestAStoppedListing(t *testing.T) {
	started := make(chan struct{})
	f := newFake(t, func(_ http.ResponseWriter, r *http.Request, _ message) {
		close(started)
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-started; cancel() }()
	if _, err := client().List(ctx, at(f.URL), nil); err == nil {
		t.Error("no error")
	}
}

func TestProgressIsBoundedAndOurs(t *testing.T) {
	f := newFake(t, func(w http.ResponseWriter, _ *http.Request, m message) {
		w.Header().Set("Content-Type", "text/event-stream")
		for range 5000 {
			_, _ = io.WriteString(w, `data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"c1","progress":1,"message":"`+strings.Repeat("é", 1000)+`\u001b[2J"}}`+"\n\n")
			_, _ = io.WriteString(w, `data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"other","progress":1,"message":"of another"}}`+"\n\n")
			_, _ = io.WriteString(w, `data: {"jsonrpc":"2.0","method":"notifications/progress"}`+"\n\n"+`data: {"jsonrpc":"2.0","method":"notifications/progress","params":null}`+"\n\n")
		}
		_, _ = io.WriteString(w, `data: {"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":`+okResult+"}\n\n")
	})
	told := make(chan string, 6000)
	wantOK(t, one(t, client(), at(f.URL), "x").Run(t.Context(), tools.Call{ID: "c1", Progress: func(s string) { told <- s }}), "fine")
	if len(told) > maxProgress {
		t.Errorf("%d lines", len(told))
	}
	close(told)
	for s := range told {
		if strings.Contains(s, "another") || strings.Contains(s, "\x1b") || len([]rune(s)) > maxProgressLine+20 {
			t.Errorf("told %q", s)
		}
	}
}

func TestAnAnswerThatAsksForInput(t *testing.T) {
	f := callAnswer(t, `{"resultType":"input_required","content":[],"requestState":"s","inputRequests":{"a":{"method":"elicitation/create","params":{"message":"?"}}}}`)
	if want(t, run(t, at(f.URL), "x", `{}`), events.ToolError, "more input"); f.got("tools/call") != 1 {
		t.Errorf("called %d times", f.got("tools/call"))
	}
}

func TestResults(t *testing.T) {
	b64 := base64.StdEncoding.EncodeToString
	png := `{"type":"image","mimeType":"image/png","data":"` + b64(tinyPNG) + `"}`
	for name, c := range map[string]struct {
		result, status, output string
		images                 int
	}{
		"text":                {`{"content":[{"type":"text","text":"a"},{"type":"text","text":"b\u0000"}]}`, events.ToolOK, "a\nb\x00", 0},
		"nothing":             {`{"content":[]}`, events.ToolOK, "The tool finished without output.", 0},
		"no content at all":   {`{}`, events.ToolOK, "The tool finished without output.", 0},
		"content null":        {`{"content":null}`, events.ToolOK, "The tool finished without output.", 0},
		"silent failure":      {`{"isError":true}`, events.ToolError, "The tool failed and did not say why.", 0},
		"structured":          {`{"content":[],"structuredContent":[1,{"a":"<"}]}`, events.ToolOK, `[1,{"a":"<"}]`, 0},
		"text over structure": {`{"content":[{"type":"text","text":"t"}],"structuredContent":{"a":1}}`, events.ToolOK, "t", 0},
		"structured failure":  {`{"isError":true,"structuredContent":{"code":7}}`, events.ToolError, `{"code":7}`, 0},
		"image":               {`{"content":[` + png + `]}`, events.ToolOK, "The tool gave 1 image(s).", 1},
		"ten images":          {`{"content":[` + strings.Repeat(png+",", 9) + png + `]}`, events.ToolOK, strings.TrimSuffix(strings.Repeat("[image image/png, 70 bytes, not shown]\n", 2), "\n"), 8},
		"called a picture":    {`{"content":[{"type":"image","mimeType":"image/png","data":"` + b64([]byte("<svg onload=alert(1)>")) + `"}]}`, events.ToolOK, "[image image/png, 21 bytes, not shown]", 0},
		"audio":               {`{"content":[{"type":"audio","mimeType":"audio/wav","data":"AAAA"}]}`, events.ToolOK, "[audio audio/wav, 3 bytes, not shown]", 0},
		"link":                {`{"content":[{"type":"resource_link","name":"n\nm","uri":"file:///x"}]}`, events.ToolOK, "[link: n m file:///x]", 0},
		"text resource":       {`{"content":[{"type":"resource","resource":{"uri":"u:1","text":"inside"}}],"structuredContent":{}}`, events.ToolOK, "[resource: u:1]\ninside", 0},
		"blob resource":       {`{"content":[{"type":"resource","resource":{"uri":"u:1","mimeType":"a/b","blob":"AAAA"}}]}`, events.ToolOK, "[resource u:1 a/b, 3 bytes, not shown]", 0},
		"empty resource":      {`{"content":[{"type":"resource"}]}`, events.ToolOK, "[a resource without content]", 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, at(callAnswer(t, c.result).URL), "x", `{}`)
			if r.Status != c.status || r.Output != c.output || len(r.Images) != c.images {
				t.Errorf("%s, %d images, %q; want %s, %d, %q", r.Status, len(r.Images), r.Output, c.status, c.images, c.output)
			}
		})
	}
	for _, result := range []string{`{"content":[{"type":"video"}]}`, `{"content":[null]}`, `{"content":[{"type":"image","data":"?"}]}`, `"x"`, `[1]`} {
		want(t, run(t, at(callAnswer(t, result).URL), "x", `{}`), events.ToolError, "could not be read")
	}
}

func TestWhatIsSentWithARequest(t *testing.T) {
	var got http.Header
	f := newFake(t, func(w http.ResponseWriter, r *http.Request, m message) {
		got = r.Header.Clone()
		reply(w, m, okResult)
	})
	st := at(f.URL)
	st.Headers = []events.ServerHeader{{Name: "X-Team", Value: "kitchen"}, {Name: "authorization", Secret: true}}
	list := []events.ServerTool{{Name: "x", Schema: json.RawMessage(`{}`)}}
	tool := client().Tools(Server{State: st, Tools: list}, map[string]string{"Authorization": "Bearer secret-1"}, free)[0]
	wantOK(t, tool.Run(t.Context(), tools.Call{ID: "c1"}), "fine")
	if got.Get("X-Team") != "kitchen" || got.Get("Authorization") != "Bearer secret-1" || got.Get("Mcp-Session-Id") != "s1" {
		t.Errorf("sent %v", got)
	}
	tool = client().Tools(Server{State: st, Tools: list}, nil, free)[0]
	want(t, tool.Run(t.Context(), tools.Call{ID: "c1"}), events.ToolError, "Authorization is missing")
}

// TestErrorsDoNotTellTheAddress: there may be a key in it.
func TestErrorsDoNotTellTheAddress(t *testing.T) {
	f := newFake(t, func(w http.ResponseWriter, _ *http.Request, _ message) { _, _ = io.WriteString(w, "?") })
	for _, url := range []string{f.URL + "/mcp?key=top-secret", "http://127.0.0.1:1/mcp?key=top-secret", "http://[::1?key=top-secret", "ftp://a/?key=top-secret"} {
		r := run(t, at(url), "x", `{}`)
		if want(t, r, events.ToolError); strings.Contains(r.Output, "top-secret") {
			t.Errorf("told: %s", r.Output)
		}
		if _, err := client().List(t.Context(), at(url), nil); err == nil || strings.Contains(err.Error(), "top-secret") {
			t.Errorf("told: %v", err)
		}
	}
}
