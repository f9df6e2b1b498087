package commands

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"lembas/events"
	"lembas/projections/transcript"
)

// Secrets is what commands need of the vault. Names are "noun/ID/what".
type Secrets interface {
	// Seal encrypts a secret for the batch of the event that says it exists; an
	// empty plaintext removes it.
	Seal(name string, plaintext []byte) (events.Put, error)
	// Open gives a secret back, or an error that matches events.ErrNotFound.
	Open(name string) ([]byte, error)
}

// Discovered is a model as an endpoint lists it.
type Discovered struct {
	Name          string
	ContextLength int // 0 is not said
}

// Discover asks an endpoint for its models.
type Discover func(ctx context.Context, baseURL, apiKey string) ([]Discovered, error)

// Stopper ends a running reply from inside: it flushes what arrived and appends
// the ending. It gives false when no loop of this process has the reply.
type Stopper interface {
	StopReply(ctx context.Context, reply string) bool
}

// Service carries out commands. Fields are set once, by cmd.
type Service struct {
	Log      events.Log
	Secrets  Secrets
	Discover Discover
	// ListTools asks MCP servers for their tools.
	ListTools ListTools
	Stopper   Stopper
	Now       func() time.Time
	NewID     func() string // ULIDs
	// Hash and Verify are the password functions: argon2id behind a gate.
	Passwords Passwords

	chats    *cache[transcript.Chat]
	users    *cache[User]
	instance *cache[Instance]
	indexKey []byte
}

// Open completes a Service whose fields are set: it makes a new log's first
// event and reads the key that e-mail addresses are hashed with.
func (s *Service) Open(ctx context.Context, version string) error {
	s.chats = newCache(s.Log, 512, func(c *transcript.Chat, e *events.Envelope) error { return c.Apply(e) })
	s.users = newCache(s.Log, 4096, (*User).apply)
	s.instance = newCache(s.Log, 1, (*Instance).apply)
	if s.Log.Head() == 0 {
		if err := s.initialise(ctx, version); err != nil {
			return err
		}
	}
	key, err := s.Secrets.Open(indexKeyName)
	if err != nil {
		return fmt.Errorf("reading the address index key: %w", err)
	}
	s.indexKey = key
	return nil
}

// Caller is who gives a command and how it came.
type Caller struct {
	User    string
	Admin   bool
	Session string
	Token   string // the id of the API token it came with, "" for none
	Address string
	// Correlation is the request's id, empty for a command that is its own; Key the caller's idempotency key, empty
	// for none, and Body a hash of the request it came with.
	Correlation string
	Key         string
	Body        []byte
}

func (c Caller) actor() events.Actor {
	if c.User == "" {
		return events.Actor{Kind: events.System, ID: "lembas"}
	}
	return events.Actor{Kind: events.Person, ID: c.User}
}

// maxTries is how often a decision is taken again after somebody else was
// faster, before the caller is told so.
const maxTries = 4

// outcome is what is kept under an idempotency key.
type outcome struct {
	Body   string          `json:"body"`
	Answer json.RawMessage `json:"answer"`
}

// repeated gives the first answer to a key that was used before, and where it
// stands in the log: who follows from there misses nothing of what it led to.
func repeated[A any](ctx context.Context, s *Service, c Caller) (answer A, res events.Result, done bool, err error) {
	if c.Key == "" {
		return answer, res, false, nil
	}
	res, ok, err := s.Log.Outcome(ctx, c.actor(), c.Key)
	if err != nil || !ok {
		return answer, res, false, err
	}
	res.Repeated = true
	answer, done, err = firstAnswer[A](c, res)
	return answer, res, done, err
}

func firstAnswer[A any](c Caller, res events.Result) (answer A, done bool, err error) {
	var o outcome
	if err := json.Unmarshal(res.Outcome, &o); err != nil {
		return answer, false, fmt.Errorf("%w: outcome of a key: %w", events.ErrDamaged, err)
	}
	if o.Body != hex.EncodeToString(c.Body) {
		return answer, false, &events.KeyReusedError{Key: c.Key}
	}
	if len(o.Answer) > 0 {
		if err := json.Unmarshal(o.Answer, &answer); err != nil {
			return answer, false, fmt.Errorf("%w: outcome of a key: %w", events.ErrDamaged, err)
		}
	}
	return answer, true, nil
}

// attempt is one try of a command: what to append and what to answer.
type attempt[A any] struct {
	parts  []events.Part
	puts   []events.Put
	answer A
}

// handle runs a command: the answer of a repeated key, else decide, append and,
// on a conflict, again. An attempt without parts changes nothing and succeeds.
func handle[A any](ctx context.Context, s *Service, c Caller, decide func() (attempt[A], error)) (A, events.Result, error) {
	var zero A
	if answer, res, done, err := repeated[A](ctx, s, c); done || err != nil {
		return answer, res, err
	}
	var last error
	for range maxTries {
		a, err := decide()
		if err != nil {
			return zero, events.Result{}, err
		}
		if len(a.parts) == 0 {
			return a.answer, events.Result{Last: s.Log.Head()}, nil
		}
		cause := s.NewID()
		b := events.Batch{Actor: c.actor(), Correlation: cmp.Or(c.Correlation, cause), Causation: cause, Parts: a.parts, Puts: a.puts}
		if c.Key != "" {
			answer, err := json.Marshal(a.answer)
			if err != nil {
				return zero, events.Result{}, err
			}
			o, err := json.Marshal(outcome{Body: hex.EncodeToString(c.Body), Answer: answer})
			if err != nil {
				return zero, events.Result{}, err
			}
			b.Key, b.KeyBody, b.Outcome = c.Key, c.Body, o
		}
		res, err := s.Log.Append(ctx, b)
		var conflict *events.ConflictError
		if errors.As(err, &conflict) {
			last = err
			continue
		}
		if err != nil {
			return zero, res, err
		}
		if res.Repeated {
			answer, _, err := firstAnswer[A](c, res)
			return answer, res, err
		}
		return a.answer, res, nil
	}
	return zero, events.Result{}, last
}

// happened turns payloads into new events.
func happened(payloads ...events.Payload) []events.New {
	out := make([]events.New, len(payloads))
	for i, p := range payloads {
		out[i] = events.New{Payload: p}
	}
	return out
}
