package stream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"lembas/events"
)

// writer writes one event stream. Every write has a deadline, so that a reader
// that has stalled is found and closed. It is used by one goroutine.
type writer struct {
	w       http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
	held    int // bytes written since the deadline was set, 0 after a flush
}

// newWriter answers 200 and sends a first line at once: proxies pass headers on
// only with the first bytes.
func newWriter(w http.ResponseWriter, timeout time.Duration) (*writer, error) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // nginx
	w.WriteHeader(http.StatusOK)
	s := &writer{w: w, control: http.NewResponseController(w), timeout: timeout}
	if err := s.write([]byte(": ok\n\n")); err != nil {
		return nil, err
	}
	return s, s.flush()
}

// write sends bytes that are whole events. What is written between two flushes
// shares a deadline, which moves on while the reader takes something.
func (s *writer) write(b []byte) error {
	if s.held += len(b); s.held == len(b) || s.held > batch {
		err := s.control.SetWriteDeadline(time.Now().Add(s.timeout))
		if err != nil && !errors.Is(err, http.ErrNotSupported) {
			return fmt.Errorf("event stream: %w", err)
		}
		s.held = len(b)
	}
	if _, err := s.w.Write(b); err != nil {
		return fmt.Errorf("event stream: %w", err)
	}
	return nil
}

// flush sends what was written.
func (s *writer) flush() error {
	if s.held == 0 {
		return nil
	}
	s.held = 0
	if err := s.control.Flush(); err != nil {
		return fmt.Errorf("event stream: %w", err)
	}
	return nil
}

// ping is a real event, because scripts cannot see comments. It has the head's
// position, so that a page can tell whether it is up to date.
func (s *writer) ping(head events.Position) error {
	return s.controlFrame("ping", map[string]events.Position{"position": head})
}

// reset says that the reader's cursor is of no use here. It is the last frame.
func (s *writer) reset(reason string) error {
	return s.controlFrame("reset", map[string]string{"reason": reason})
}

// end says why the server closes. It is the last frame.
func (s *writer) end(reason string) error {
	return s.controlFrame("end", map[string]string{"reason": reason})
}

// controlFrame has no id: it must not move a cursor.
func (s *writer) controlFrame(event string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if err := s.write(appendEvent(nil, "", event, data)); err != nil {
		return err
	}
	return s.flush()
}

// appendEvent appends one event; data with line breaks becomes several lines.
// An empty id is left out.
func appendEvent(dst []byte, id, event string, data []byte) []byte {
	if id != "" {
		dst = append(append(append(dst, "id: "...), id...), '\n')
	}
	dst = append(append(append(dst, "event: "...), event...), '\n')
	for {
		line, rest, more := bytes.Cut(data, []byte{'\n'})
		dst = append(append(append(dst, "data: "...), bytes.TrimSuffix(line, []byte{'\r'})...), '\n')
		if !more {
			return append(dst, '\n')
		}
		data = rest
	}
}

// cursor is EPOCH.POSITION.
func cursor(epoch string, p events.Position) string {
	return epoch + "." + strconv.FormatUint(uint64(p), 10)
}

// The reasons of end.
const (
	endSignedOut = "signed_out"
	endDeleted   = "deleted"
	endShutdown  = "shutdown"
	endLifetime  = "lifetime"
)

// ended is the cause of a follower's context when the server closes it.
type ended struct{ reason string }

func (e ended) Error() string { return "stream ended: " + e.reason }

// reasonOf gives why the server ends a stream, "" when it is not the server: a
// reader that left, a write that failed.
func reasonOf(ctx context.Context, err error) string {
	var e ended
	switch {
	case errors.As(err, &e), errors.As(context.Cause(ctx), &e):
		return e.reason
	case errors.Is(err, events.ErrClosed):
		return endShutdown
	}
	return ""
}
