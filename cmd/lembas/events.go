package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"

	"lembas/events"
)

// EventsCmd prints stored events.
type EventsCmd struct {
	Stream string `help:"Only this stream, such as chat/01J…." placeholder:"S"`
	After  uint64 `help:"Only later positions than this." placeholder:"N"`
	Type   string `help:"Only types that match, such as 'reply.*'." placeholder:"GLOB"`
}

// Run prints them.
func (c *EventsCmd) Run(ctx context.Context, p *program, g *Globals) error {
	if _, err := path.Match(c.Type, ""); err != nil {
		return &usageError{fmt.Sprintf("--type %q is not a pattern: * and ? stand for characters", c.Type)}
	}
	return perform(ctx, p, g, &eventsCall{Stream: c.Stream, After: events.Position(c.After), Type: c.Type}, false)
}

type eventsCall struct {
	Stream string
	After  events.Position
	Type   string
}

func (*eventsCall) name() string { return "events" }

func (c *eventsCall) run(ctx context.Context, a *app, out io.Writer) error {
	matches := func(typ string) bool {
		ok, err := path.Match(c.Type, typ)
		return c.Type == "" || (ok && err == nil)
	}
	seq := a.log.ReadFilter(ctx, c.After, func(typ, _ string) bool { return matches(typ) })
	if c.Stream != "" {
		seq = a.log.ReadStream(ctx, c.Stream, c.After)
	}
	w := newLineWriter(out)
	for e, err := range seq {
		if err != nil {
			return err
		}
		if !matches(e.Type) {
			continue
		}
		if err := w.write(&e); err != nil {
			return err
		}
	}
	return w.flush()
}

// lineWriter gathers NDJSON lines, so that a socket is not flushed for each.
type lineWriter struct {
	out io.Writer
	buf []byte
}

func newLineWriter(out io.Writer) *lineWriter { return &lineWriter{out: out} }

func (w *lineWriter) write(e *events.Envelope) error {
	w.buf = append(e.AppendJSON(w.buf), '\n')
	if len(w.buf) < 64<<10 {
		return nil
	}
	return w.flush()
}

func (w *lineWriter) flush() error {
	if len(w.buf) == 0 {
		return nil
	}
	_, err := w.out.Write(w.buf)
	w.buf = w.buf[:0]
	return err
}

// FollowCmd prints the events of one chat as they happen.
type FollowCmd struct {
	Chat  string `arg:"" help:"The chat's id."`
	After uint64 `help:"Only later positions than this." placeholder:"N"`
}

// Run follows until it is interrupted. Without a running server there is
// nothing to wait for: it prints what is stored and says so.
func (c *FollowCmd) Run(ctx context.Context, p *program, g *Globals) error {
	call := &followCall{Chat: c.Chat, After: events.Position(c.After)}
	err := perform(ctx, p, g, call, false)
	if errors.Is(err, errNoServer) {
		_, err = fmt.Fprintln(p.stderr, "lembas: no server is running; these are the stored events")
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

var errNoServer = errors.New("no server is running")

type followCall struct {
	Chat  string
	After events.Position
}

func (*followCall) name() string { return "follow" }

func (c *followCall) run(ctx context.Context, a *app, out io.Writer) error {
	stream := events.ChatStream(c.Chat)
	if info, err := a.log.Stream(ctx, stream); err != nil {
		return err
	} else if info.Version == 0 {
		return errors.New("there is no such chat")
	}
	w := newLineWriter(out)
	for at := c.After; ; {
		for e, err := range a.log.ReadStream(ctx, stream, at) {
			if err != nil {
				return err
			}
			at = e.Position
			if err := w.write(&e); err != nil {
				return nil //nolint:nilerr // the follower went away
			}
		}
		if err := w.flush(); err != nil {
			return nil //nolint:nilerr // the follower went away
		}
		if !a.serving {
			return errNoServer
		}
		if err := a.log.WaitStream(ctx, stream, at); err != nil {
			return nil //nolint:nilerr // the server goes down, or the follower went away
		}
	}
}

// tokenOwner finds whose an API token is.
func tokenOwner(ctx context.Context, a *app, id string) (string, error) {
	for e, err := range a.log.ReadFilter(ctx, 0, func(typ, _ string) bool { return typ == "token.created" }) {
		if err != nil {
			return "", err
		}
		p, err := events.Decode(&e)
		if err != nil {
			return "", err
		}
		if t, ok := p.(events.TokenCreated); ok && t.Token == id {
			return e.Stream[len("user/"):], nil
		}
	}
	return "", errors.New("there is no such token")
}
