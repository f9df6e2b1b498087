package request

import (
	"context"
	"crypto/sha256"
	"io"
	"net/http"
	"time"

	"lembas/commands"
)

const (
	// MaxBody bounds a JSON body: a message of commands.MaxText, every
	// character of it escaped.
	MaxBody = 4 << 20
	// maxDrain is how much of a body that is too large is read and dropped.
	maxDrain = 64 << 20
	// bodyTime is how long a body may take to arrive.
	bodyTime = 30 * time.Second
	// maxKey bounds an Idempotency-Key.
	maxKey = 200
)

// state is what is known about one request. It is made once, by Middleware,
// and used by the goroutine of the request alone.
type state struct {
	correlation string
	address     string
	secure      bool
	identity    *commands.Identity
	key         string
	body        []byte
	read        bool
	arrived     func() // takes the deadline for the body away
}

type stateKey struct{}

func stateOf(ctx context.Context) *state {
	if s, ok := ctx.Value(stateKey{}).(*state); ok {
		return s
	}
	return &state{}
}

// Correlation is the id of a request, under which the log has all it led to.
func Correlation(ctx context.Context) string { return stateOf(ctx).correlation }

// Address is where a request comes from, "" when not known.
func Address(ctx context.Context) string { return stateOf(ctx).address }

// Secure says whether the browser talks TLS.
func Secure(ctx context.Context) bool { return stateOf(ctx).secure }

// Identity is who a request stands for; false for nobody.
func Identity(ctx context.Context) (commands.Identity, bool) {
	if id := stateOf(ctx).identity; id != nil {
		return *id, true
	}
	return commands.Identity{}, false
}

// Caller is who gives a command with this request and how it came. With an
// Idempotency-Key it carries a hash of method, path and body.
func Caller(r *http.Request) commands.Caller {
	s := stateOf(r.Context())
	c := commands.Caller{Address: s.address, Correlation: s.correlation, Key: s.key}
	if s.identity != nil {
		c.User, c.Admin, c.Session, c.Token = s.identity.User.ID, s.identity.User.Admin, s.identity.Session, s.identity.Token
	}
	if c.Key != "" {
		body, _ := Bytes(r) // a body that cannot be read was refused where it is used
		h := sha256.New()
		for _, part := range [][]byte{[]byte(r.Method), []byte(r.URL.Path), body} {
			sum := sha256.Sum256(part)
			h.Write(sum[:])
		}
		c.Body = h.Sum(nil)
	}
	return c
}

// CallerWithoutKey is Caller for a request whose body holds a password: the
// log keeps the hash of a request beside its key, and a password could be
// guessed from it.
func CallerWithoutKey(r *http.Request) commands.Caller {
	c := Caller(r)
	c.Key, c.Body = "", nil
	return c
}

// Bytes is the request's body, at most MaxBody; it may be asked for again.
func Bytes(r *http.Request) ([]byte, error) {
	s := stateOf(r.Context())
	if s.read {
		return s.body, nil
	}
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, MaxBody))
	if err != nil {
		// Most clients read an answer only after they have sent all of the body;
		// those that are far too long, or slow, see the connection close instead.
		_, _ = io.CopyN(io.Discard, r.Body, maxDrain)
		return nil, badBody(err)
	}
	s.body, s.read = body, true
	if s.arrived != nil {
		s.arrived()
	}
	return body, nil
}
