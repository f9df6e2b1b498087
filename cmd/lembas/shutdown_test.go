package main

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"lembas/events"
)

// TestAFollowThatGoesOnHoldsNoShutdownUp: the command waits for more events of
// a quiet chat; the server ends all the same, and the command with it.
func TestAFollowThatGoesOnHoldsNoShutdownUp(t *testing.T) {
	e := newEndpoint(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		says(w, "all")
		ends(w)
	})
	s := serve(t, dataDir(t))
	ann := s.person("ann@example.test", true)
	ann.connect(e, "")
	chat, reply := ann.ask("m", "hello")
	ann.awaitEnd(chat, reply)
	cmd := lembas(t.Context(), "follow", chat, "--data", s.dir)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	dec := json.NewDecoder(out)
	for env := (events.Envelope{}); env.Type != "reply.finished"; {
		must(t, dec.Decode(&env))
	}
	if err := s.stop(); err != nil {
		t.Errorf("the server ended with %v", err)
	}
	_, _ = io.Copy(io.Discard, out)
	if err := cmd.Wait(); err != nil {
		t.Errorf("follow ended with %v", err)
	}
}
