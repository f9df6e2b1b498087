package commands

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/oklog/ulid/v2"

	"lembas/events"
	"lembas/events/store"
	"lembas/projections/transcript"
)

type memory struct {
	mu sync.Mutex
	m  map[string][]byte
}

func (s *memory) Seal(name string, b []byte) (events.Put, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.m[name] = b
	return events.Put{Space: "vault", Key: []byte(name), Value: []byte("sealed")}, nil
}

func (s *memory) Open(name string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.m[name]; len(b) > 0 {
		return b, nil
	}
	return nil, events.ErrNotFound
}

// plain is a hasher that costs nothing.
type plain struct{}

func (plain) Hash(_ context.Context, p string) (string, error)    { return "h:" + p, nil }
func (plain) Verify(_ context.Context, h, p string) (bool, error) { return h == "h:"+p, nil }

type house struct {
	*Service
	log   *store.Store
	now   time.Time
	found []Discovered
	down  error
}

func newHouse(t *testing.T) *house {
	t.Helper()
	log, err := store.Open("data", store.Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	h := &house{log: log, now: noon, found: []Discovered{{Name: "small"}, {Name: "large", ContextLength: 8192}}}
	h.Service = &Service{Log: log, Secrets: &memory{m: map[string][]byte{}}, Passwords: plain{},
		Now: func() time.Time { return h.now }, NewID: func() string { return ulid.Make().String() },
		Discover: func(context.Context, string, string) ([]Discovered, error) { return h.found, h.down }}
	t.Cleanup(func() {
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	})
	check(t, h.Open(t.Context(), "test"))
	return h
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantErr(t *testing.T, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("error %v, want %v", got, want)
	}
}

func wantField(t *testing.T, err error, field string) {
	t.Helper()
	var f *events.FieldError
	if !errors.As(err, &f) || f.Field != field {
		t.Errorf("error %v, want one of field %q", err, field)
	}
}

func (h *house) register(t *testing.T, email string) Caller {
	t.Helper()
	r, _, err := h.Register(t.Context(), Caller{}, Register{Email: email, Password: "correct horse"})
	check(t, err)
	return Caller{User: r.User, Admin: r.Admin}
}

func (h *house) connect(t *testing.T, c Caller) string {
	t.Helper()
	name, url, key := "local", "http://127.0.0.1:9/v1", "sk-1"
	r, _, err := h.CreateConnection(t.Context(), c, PatchConnection{Name: &name, BaseURL: &url, APIKey: &key})
	check(t, err)
	_, err = h.RefreshConnection(t.Context(), c, r.ID)
	check(t, err)
	return r.ID
}

func (h *house) count(t *testing.T, typ string) (n int) {
	t.Helper()
	for e, err := range h.log.Read(t.Context(), 0) {
		check(t, err)
		if e.Type == typ {
			n++
		}
	}
	return n
}

func TestThirtySignUpsAtOnceMakeOneAdministrator(t *testing.T) {
	h := newHouse(t)
	admins := make(chan bool, 30)
	var wg sync.WaitGroup
	for i := range 30 {
		wg.Go(func() {
			r, _, err := h.Register(t.Context(), Caller{}, Register{Email: fmt.Sprintf("p%d@example.test", i), Password: "correct horse"})
			if err != nil {
				t.Error(err)
			}
			admins <- r.Admin
		})
	}
	wg.Wait()
	close(admins)
	n := 0
	for a := range admins {
		if a {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d administrators", n)
	}
}

func TestAnAddressHasOneAccount(t *testing.T) {
	h := newHouse(t)
	var wg sync.WaitGroup
	made := make(chan string, 20)
	for i := range 20 {
		wg.Go(func() {
			email := "ann@example.test"
			if i%2 == 0 {
				email = " Ann@Example.TEST "
			}
			r, _, err := h.Register(t.Context(), Caller{}, Register{Email: email, Password: "correct horse"})
			if err == nil {
				made <- r.User
			} else {
				wantErr(t, err, ErrEmailTaken)
			}
		})
	}
	wg.Wait()
	if len(made) != 1 || h.count(t, "user.registered") != 1 {
		t.Errorf("%d made, %d registered", len(made), h.count(t, "user.registered"))
	}
	for e, err := range h.log.Read(t.Context(), 0) {
		check(t, err)
		if strings.Contains(strings.ToLower(e.Stream), "ann") {
			t.Errorf("the address is in the stream's name %q", e.Stream)
		}
	}
}

func TestTheSameKeyTwiceGivesTheFirstAnswer(t *testing.T) {
	h := newHouse(t)
	ann := h.register(t, "ann@example.test")
	h.connect(t, ann)
	ann.Key, ann.Body = "k1", []byte("body")
	var answers [8]Created
	var wg sync.WaitGroup
	for i := range answers {
		wg.Go(func() {
			r, _, err := h.CreateChat(t.Context(), ann, CreateChat{Text: "hello"})
			if err != nil {
				t.Error(err)
			}
			answers[i] = r
		})
	}
	wg.Wait()
	for _, a := range answers {
		if a != answers[0] || a.Chat == "" {
			t.Errorf("answers differ: %v", answers)
		}
	}
	if n := h.count(t, "chat.created"); n != 1 {
		t.Errorf("%d chats", n)
	}
	ann.Body = []byte("another")
	_, _, err := h.CreateChat(t.Context(), ann, CreateChat{Text: "other"})
	var reused *events.KeyReusedError
	if !errors.As(err, &reused) {
		t.Errorf("error %v", err)
	}
	bob := h.register(t, "bob@example.test")
	bob.Key, bob.Body = "k1", []byte("body")
	if r, _, err := h.CreateChat(t.Context(), bob, CreateChat{Text: "hello"}); err != nil || r == answers[0] {
		t.Errorf("a key is scoped to its person: %v, %v", r, err)
	}
}

func TestSignUpCanBeSwitchedOff(t *testing.T) {
	h := newHouse(t)
	ann := h.register(t, "ann@example.test")
	_, err := h.ChangeSettings(t.Context(), ann, map[string]json.RawMessage{"signup": json.RawMessage("false")})
	check(t, err)
	_, _, err = h.Register(t.Context(), Caller{}, Register{Email: "bob@example.test", Password: "correct horse"})
	wantErr(t, err, ErrSignupOff)
	_, _, err = h.Register(t.Context(), ann, Register{Email: "bob@example.test", Password: "correct horse", ByAdmin: true})
	check(t, err)
}

func TestSessionsAndWhatEndsThem(t *testing.T) {
	h := newHouse(t)
	ctx := t.Context()
	ann := h.register(t, "ann@example.test")
	bob := h.register(t, "bob@example.test")
	_, _, err := h.SignIn(ctx, Caller{}, "bob@example.test", "wrong", "x")
	wantErr(t, err, ErrCredentials)
	_, _, err = h.SignIn(ctx, Caller{}, "nobody@example.test", "correct horse", "x")
	wantErr(t, err, ErrCredentials)
	if n := h.count(t, "user.sign_in_failed"); n != 1 {
		t.Errorf("%d failures recorded", n)
	}
	open := func() (string, Identity) {
		cookie, id, err := h.SignIn(ctx, Caller{}, "BOB@example.test", "correct horse", strings.Repeat("é", 300))
		check(t, err)
		return cookie, id
	}
	gone := func(cookie, why string) {
		t.Helper()
		if _, err := h.Authenticate(ctx, cookie); !errors.Is(err, events.ErrNotFound) {
			t.Errorf("%s: the session lives on (%v)", why, err)
		}
	}
	cookie, id := open()
	if len(id.User.Sessions[id.Session].Agent) > 200 {
		t.Error("the browser's name is not bounded")
	}
	gone(cookie+"x", "a changed cookie")
	gone(strings.Replace(cookie, bob.User, ann.User, 1), "another's name in it")
	_, err = h.RevokeSession(ctx, bob, id.Session, "signed_out")
	check(t, err)
	gone(cookie, "signed out")
	first, firstID := open()
	second, _ := open()
	mine := bob
	mine.Session = firstID.Session
	wantField(t, h.ChangePassword(ctx, mine, "wrong", "new password"), "current")
	check(t, h.ChangePassword(ctx, mine, "correct horse", "new password"))
	gone(second, "password changed elsewhere")
	if _, err := h.Authenticate(ctx, first); err != nil {
		t.Errorf("the session that changed the password ended: %v", err)
	}
	h.now = noon.Add(SessionLife)
	gone(first, "expired")
	h.now = noon
	yes := true
	_, err = h.ChangeUser(ctx, ann, bob.User, ChangeUser{Disabled: &yes})
	check(t, err)
	gone(first, "disabled")
	_, _, err = h.SignIn(ctx, Caller{}, "bob@example.test", "new password", "x")
	wantErr(t, err, ErrCredentials)
	_, err = h.ChangeUser(ctx, ann, ann.User, ChangeUser{Disabled: &yes})
	wantField(t, err, "id")
}

// TestPresentPasswordIsNotGuessed: with a session or a token somebody may be
// wrong a few times; then the right one is no better than the others for a
// while. Sign-ins that fail elsewhere lock nobody out.
func TestPresentPasswordIsNotGuessed(t *testing.T) {
	h := newHouse(t)
	h.now = time.Now() // the log's clock
	ctx := t.Context()
	ann := h.register(t, "ann@example.test")
	for range 2 * maxGuesses {
		_, _, err := h.SignIn(ctx, Caller{Session: "of another account"}, "ann@example.test", "wrong", "x")
		wantErr(t, err, ErrCredentials)
	}
	bySession, byToken := ann, ann
	bySession.Session, byToken.Token = "s", "t"
	for i := range maxGuesses {
		wantField(t, h.ChangePassword(ctx, []Caller{bySession, byToken}[i%2], "wrong", "new password"), "current")
	}
	wantErr(t, h.ChangePassword(ctx, bySession, "wrong", "new password"), events.ErrBusy)
	wantErr(t, h.ChangePassword(ctx, bySession, "correct horse", "new password"), events.ErrBusy)
	h.now = time.Now().Add(guessWindow)
	check(t, h.ChangePassword(ctx, bySession, "correct horse", "new password"))
}

// TestSessionsAreBounded: the oldest login ends where one more would be too
// many, and those that have expired are not kept.
func TestSessionsAreBounded(t *testing.T) {
	h := newHouse(t)
	ctx := t.Context()
	ann := h.register(t, "ann@example.test")
	var cookies []string
	for range maxSessions + 5 {
		cookie, _, err := h.SignIn(ctx, Caller{}, "ann@example.test", "correct horse", "x")
		check(t, err)
		cookies = append(cookies, cookie)
	}
	for i, cookie := range cookies {
		if _, err := h.Authenticate(ctx, cookie); (err == nil) != (i >= 5) {
			t.Errorf("login %d of %d: %v", i, len(cookies), err)
		}
	}
	h.now = noon.Add(SessionLife)
	_, id, err := h.SignIn(ctx, ann, "ann@example.test", "correct horse", "x")
	check(t, err)
	if n := len(id.User.Sessions); n != 1 {
		t.Errorf("%d sessions are left, want the new one", n)
	}
}

func TestTokens(t *testing.T) {
	h := newHouse(t)
	ctx := t.Context()
	ann, bob := h.register(t, "ann@example.test"), h.register(t, "bob@example.test")
	_, err := h.CreateToken(ctx, bob, CreateToken{Name: "x", Scope: events.ScopeAdmin})
	wantField(t, err, "scope")
	_, err = h.CreateToken(ctx, ann, CreateToken{Name: "x", Expires: noon})
	wantField(t, err, "expires")
	tok, err := h.CreateToken(ctx, ann, CreateToken{Name: "x", Expires: noon.Add(time.Hour)})
	check(t, err)
	id, err := h.AuthenticateToken(ctx, tok.Secret)
	check(t, err)
	if id.Scope != events.ScopeWrite || id.User.ID != ann.User {
		t.Errorf("identity %+v", id)
	}
	for e, err := range h.log.Read(ctx, 0) {
		check(t, err)
		if strings.Contains(string(e.Data), strings.TrimPrefix(tok.Secret, tokenPrefix)) {
			t.Error("the token is in the log")
		}
	}
	_, err = h.Authenticate(ctx, strings.TrimPrefix(tok.Secret, tokenPrefix))
	wantErr(t, err, events.ErrNotFound) // a token is no cookie
	h.now = noon.Add(time.Hour)
	_, err = h.AuthenticateToken(ctx, tok.Secret)
	wantErr(t, err, events.ErrNotFound)
	h.now = noon
	_, err = h.RevokeToken(ctx, bob, tok.ID)
	wantErr(t, err, events.ErrNotFound)
	_, err = h.RevokeToken(ctx, ann, tok.ID)
	check(t, err)
	_, err = h.AuthenticateToken(ctx, tok.Secret)
	wantErr(t, err, events.ErrNotFound)
}

// TestTokenMakesNoStrongerOne: of all pairs of scope and life, a token makes
// only what is within its own.
func TestTokenMakesNoStrongerOne(t *testing.T) {
	h := newHouse(t)
	ctx := t.Context()
	ann := h.register(t, "ann@example.test") // the administrator
	scopes := []string{events.ScopeRead, events.ScopeWrite, events.ScopeAdmin}
	lives := []time.Time{noon.Add(time.Hour), noon.Add(2 * time.Hour), {}} // the longer the later
	for i := range 9 {
		own := CreateToken{Name: "own", Scope: scopes[i/3], Expires: lives[i%3]}
		made, err := h.CreateToken(ctx, ann, own)
		check(t, err)
		asking := ann
		asking.Token = made.ID
		for k := range 9 {
			cmd := CreateToken{Name: "next", Scope: scopes[k/3], Expires: lives[k%3]}
			_, err := h.CreateToken(ctx, asking, cmd)
			if k/3 > i/3 || k%3 > i%3 {
				wantErr(t, err, events.ErrForbidden)
			} else if err != nil {
				t.Errorf("%+v made by %+v: %v", cmd, own, err)
			}
		}
		_, err = h.RevokeToken(ctx, ann, made.ID)
		check(t, err)
		_, err = h.CreateToken(ctx, asking, CreateToken{Name: "x", Scope: events.ScopeRead, Expires: lives[0]})
		wantErr(t, err, events.ErrNotFound)
	}
}

func TestSettingsAreBounded(t *testing.T) {
	h := newHouse(t)
	ann := h.register(t, "ann@example.test")
	for key, bad := range map[string][]string{
		"signup": {`1`, `"true"`}, "approval_timeout": {`59`, `1.5`, `"60"`, `1e99`}, "tools.ask": {`"read"`, `["fly"]`, `[1]`},
		"agents.this_machine": {`"port:22"`, `"port:0"`, `"port:70000"`, `"port:"`, `"port:8 0"`, `true`}, "limits.compact_at": {`0`, `1.1`},
		"nothing.of_the_kind": {`1`}, "agents.allow": {`[""]`, `{}`},
	} {
		for _, v := range bad {
			_, err := h.ChangeSettings(t.Context(), ann, map[string]json.RawMessage{key: json.RawMessage(v), "limits.rounds": json.RawMessage("5")})
			wantField(t, err, key)
		}
	}
	for key, good := range map[string]string{"agents.this_machine": `"port:2222"`, "tools.ask": `[]`, "limits.compact_at": `0.5`, "limits.gather_ms": `0`} {
		_, err := h.ChangeSettings(t.Context(), ann, map[string]json.RawMessage{key: json.RawMessage(good)})
		check(t, err)
	}
	s, err := h.Settings(t.Context())
	check(t, err)
	if s.Int("limits.rounds") != 0 || s.Int("limits.gather_ms") != 0 || !s.Bool("signup") {
		t.Errorf("settings %v", s.All())
	}
	_, err = h.ChangeSettings(t.Context(), ann, map[string]json.RawMessage{"limits.gather_ms": json.RawMessage("null")})
	check(t, err)
	if s, _ := h.Settings(t.Context()); s.Int("limits.gather_ms") != 40 {
		t.Error("null is the default again")
	}
}

func TestFolders(t *testing.T) {
	h := newHouse(t)
	ctx := t.Context()
	ann, bob := h.register(t, "ann@example.test"), h.register(t, "bob@example.test")
	h.connect(t, ann)
	s := func(v string) *string { return &v }
	top, _, err := h.CreateFolder(ctx, ann, PatchFolder{Name: s("Top"), SystemPrompt: s("Be kind."), Seeds: &map[string]string{"effort": "high"}})
	check(t, err)
	for _, seeds := range []map[string]string{{"model": strings.Repeat("m", 201)}, {"effort": strings.Repeat("e", 1<<20)}, {"mode": "auto"}} {
		_, err = h.ChangeFolder(ctx, ann, top.ID, PatchFolder{Seeds: &seeds})
		wantField(t, err, "seeds")
	}
	in, _, err := h.CreateFolder(ctx, ann, PatchFolder{Name: s("In"), Parent: &top.ID})
	check(t, err)
	_, err = h.ChangeFolder(ctx, ann, top.ID, PatchFolder{Parent: &in.ID})
	wantField(t, err, "parent_id")
	_, err = h.ChangeFolder(ctx, bob, top.ID, PatchFolder{Name: s("mine")})
	wantErr(t, err, events.ErrNotFound)
	_, _, err = h.CreateChat(ctx, bob, CreateChat{Text: "x", Folder: top.ID})
	wantField(t, err, "folder_id")
	parent := in.ID
	for i := 0; ; i++ {
		f, _, err := h.CreateFolder(ctx, ann, PatchFolder{Name: s("deep"), Parent: &parent})
		if err != nil {
			wantField(t, err, "parent_id")
			break
		}
		if parent = f.ID; i > 20 {
			t.Fatal("no bound on depth")
		}
	}
	u, err := h.User(ctx, ann.User)
	check(t, err)
	if got := u.FolderPrompt(in.ID); got != "Be kind." {
		t.Errorf("the prompt of the folder above is in force, got %q", got)
	}
	u.Folders["a"], u.Folders["b"] = events.FolderState{Parent: "b"}, events.FolderState{Parent: "a"}
	if got := u.FolderPrompt("a"); got != "" { // and it comes back
		t.Errorf("a cycle gave %q", got)
	}
	c, _, err := h.CreateChat(ctx, ann, CreateChat{Text: "x", Folder: top.ID})
	check(t, err)
	check(t, h.ViewChat(ctx, ann.User, c.Chat, func(c *transcript.Chat) error {
		if c.Effort != "high" || c.Folder != top.ID {
			t.Errorf("effort %q, folder %q", c.Effort, c.Folder)
		}
		return nil
	}))
	_, err = h.RemoveFolder(ctx, ann, top.ID)
	check(t, err)
	if u, _ = h.User(ctx, ann.User); u.Folders[in.ID].Parent != "" {
		t.Error("what was in a removed folder did not move up")
	}
	if got := u.Folder(top.ID); got != "" {
		t.Errorf("a chat of the removed folder is in %q", got)
	}
	deep, _, err := h.CreateFolder(ctx, ann, PatchFolder{Name: s("Deep"), Parent: &in.ID})
	check(t, err)
	_, err = h.RemoveFolder(ctx, ann, deep.ID)
	check(t, err)
	if u, _ = h.User(ctx, ann.User); u.Folder(deep.ID) != in.ID {
		t.Errorf("a chat of a removed inner folder is in %q", u.Folder(deep.ID))
	}
}

func TestAnothersChatIsNotThere(t *testing.T) {
	h := newHouse(t)
	ctx := t.Context()
	ann, bob := h.register(t, "ann@example.test"), h.register(t, "bob@example.test")
	h.connect(t, ann)
	c, _, err := h.CreateChat(ctx, ann, CreateChat{Text: "x"})
	check(t, err)
	title := "mine"
	for name, do := range map[string]func(chat string) error{
		"submit":     func(chat string) error { _, _, err := h.SubmitMessage(ctx, bob, chat, "x"); return err },
		"stop":       func(chat string) error { _, err := h.Stop(ctx, bob, chat); return err },
		"patch":      func(chat string) error { _, err := h.PatchChat(ctx, bob, chat, PatchChat{Title: &title}); return err },
		"delete":     func(chat string) error { _, err := h.DeleteChat(ctx, bob, chat); return err },
		"seen":       func(chat string) error { _, err := h.Seen(ctx, bob, chat, 1); return err },
		"edit":       func(chat string) error { _, _, err := h.EditMessage(ctx, bob, chat, c.Message, "x"); return err },
		"regenerate": func(chat string) error { _, _, err := h.Regenerate(ctx, bob, chat, c.Reply); return err },
	} {
		for _, chat := range []string{c.Chat, "nothing", ""} {
			if err := do(chat); !errors.Is(err, events.ErrNotFound) {
				t.Errorf("%s of chat %q: %v", name, chat, err)
			}
		}
	}
	_, err = h.DeleteChat(ctx, ann, c.Chat)
	check(t, err)
	_, _, err = h.SubmitMessage(ctx, ann, c.Chat, "x")
	wantErr(t, err, events.ErrNotFound)
}
