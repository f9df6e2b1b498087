package custom

import (
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"lembas/commands/tools/guard"
	"lembas/events"
)

// row is one of testdata/cases/custom_tool.json.
type row struct {
	ID    string
	Input struct {
		URL, Method, Body, Slug, Secret string
		Args                            map[string]any
		Headers                         map[string]string
		DNS                             map[string][]string
		Redirects                       [][2]any
		Stored                          bool
	}
	Expect string
}

func (r row) state() events.CustomState {
	st := weather()
	st.URL, st.Body, st.Parameters = r.Input.URL, r.Input.Body, nil
	if r.Input.Method != "" {
		st.Method = r.Input.Method
	}
	if r.Input.Slug != "" {
		st.Slug = r.Input.Slug
	}
	for name, value := range r.Input.Headers {
		st.Headers = append(st.Headers, events.CustomHeader{Name: name, Value: value})
	}
	if r.Input.Secret != "" {
		st.Headers = append(st.Headers, events.CustomHeader{Name: "X-Secret", Secret: true})
	}
	for name := range r.Input.Args {
		st.Parameters = append(st.Parameters, events.CustomParameter{Name: name, Type: "string"})
	}
	return st
}

// chain answers with the row's redirects, one after the other, then with 200.
func (r row) chain() http.HandlerFunc {
	var mu sync.Mutex
	left := r.Input.Redirects
	return func(w http.ResponseWriter, req *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if len(left) == 0 {
			ok(w, req)
			return
		}
		status, to := left[0][0].(float64), left[0][1].(string)
		left = left[1:]
		w.Header().Set("Location", to)
		w.WriteHeader(int(status))
	}
}

func TestCases(t *testing.T) {
	b, err := os.ReadFile("../../../testdata/cases/custom_tool.json")
	check(t, err)
	var rows []row
	check(t, json.Unmarshal(b, &rows))
	if len(rows) == 0 {
		t.Fatal("no rows")
	}
	for _, r := range rows {
		t.Run(r.ID, func(t *testing.T) { r.run(t) })
	}
}

func (r row) run(t *testing.T) {
	st := r.state()
	err := Check(st)
	if r.Expect == "refuse_save" {
		if err == nil {
			t.Error("was saved")
		}
		return
	}
	if err != nil && !r.Input.Stored {
		t.Fatalf("not saved: %v", err)
	}
	w := newWorld(t, r.Input.DNS, r.chain())
	args, err := json.Marshal(r.Input.Args)
	check(t, err)
	res := call(t, st, map[string]string{"X-Secret": r.Input.Secret}, w, string(args))
	form, want, _ := strings.Cut(r.Expect, ":")
	switch form {
	case "refuse_call":
		if res.Status == events.ToolOK || len(w.seen) > 0 {
			t.Errorf("%s: %q, sent %v", res.Status, res.Output, w.seen)
		}
		return
	case "refuse_hop":
		if res.Status != events.ToolRefused || len(w.seen) != guard.MaxHops+1 {
			t.Errorf("%s: %q after %d requests", res.Status, res.Output, len(w.seen))
		}
		return
	}
	if res.Status != events.ToolOK {
		t.Fatalf("%s: %q", res.Status, res.Output)
	}
	r.sent(t, w, form, want)
}

func (r row) sent(t *testing.T, w *world, form, want string) {
	last := w.last(t)
	switch form {
	case "sent", "sent_without_secret":
		if last.URL != want {
			t.Errorf("sent %s", last.URL)
		}
		if form == "sent" {
			return
		}
		if w.seen[0].Header.Get("X-Secret") != r.Input.Secret {
			t.Error("the secret did not go to its own origin")
		}
		if slices.ContainsFunc(w.seen[1:], func(s seen) bool { return len(s.Header["X-Secret"]) > 0 }) {
			t.Errorf("the secret travelled: %v", w.seen)
		}
	case "header":
		name, value, _ := strings.Cut(want, ": ")
		if got := last.Header[name]; len(got) != 1 || got[0] != value {
			t.Errorf("%s: %q", name, got)
		}
	case "body":
		if last.Body != want {
			t.Errorf("body %s", last.Body)
		}
	default:
		t.Errorf("unknown expectation %q", r.Expect)
	}
}
