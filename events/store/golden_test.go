package store

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"lembas/events"
)

// TestGoldenLogs opens what every release recorded and compares it with what
// that release saw. -record NAME makes a new one, once per release.
var recordGoldenLog = flag.String("record", "", "record a golden log under testdata/golden/NAME")

const goldenTime = "2026-11-30T12:00:00Z"

func TestGoldenLogs(t *testing.T) {
	if *recordGoldenLog != "" {
		recordGolden(t, filepath.Join("testdata", "golden", *recordGoldenLog))
	}
	dirs, err := filepath.Glob("testdata/golden/v*")
	if err != nil || len(dirs) == 0 {
		t.Fatal("no golden logs", err)
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			fs := vfs.NewMem() // opening writes
			if _, err := vfs.Clone(vfs.Default, fs, filepath.Join(dir, "data"), "data"); err != nil {
				t.Fatal(err)
			}
			s := open(t, fs, Options{})
			checkGolden(t, s, dir)
			if _, err := s.Verify(context.Background(), nil); err != nil {
				t.Error(err)
			}
			at, err := s.Stream(context.Background(), "chat/golden")
			if err != nil {
				t.Fatal(err)
			}
			mustAppend(t, s, one("chat/golden", events.Exactly(at.Deciding), rename("written by this release")))
		})
	}
}

func checkGolden(t *testing.T, s *Store, dir string) {
	t.Helper()
	var want struct{ Epoch, Root string }
	b, err := os.ReadFile(filepath.Join(dir, "want.json"))
	if err = firstOf(err, json.Unmarshal(b, &want)); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(dir, "log.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for _, e := range all(t, s, "", 0) {
		if !lines.Scan() || !bytes.Equal(lines.Bytes(), e.AppendJSON(nil)) {
			t.Errorf("event %d\n%s\nwas recorded as\n%s", e.Position, e.AppendJSON(nil), lines.Bytes())
		}
		if p, err := events.Decode(&e); err != nil {
			t.Errorf("event %d: %v", e.Position, err)
		} else if _, unknown := p.(events.Unknown); unknown && e.Type != "future.thing" {
			t.Errorf("event %d: %s is not known any more", e.Position, e.Type)
		}
	}
	if lines.Scan() {
		t.Errorf("event is missing: %s", lines.Bytes())
	}
	root, err := s.Root(s.Head())
	if err != nil || root.String() != want.Root || s.Epoch() != want.Epoch {
		t.Errorf("root %v %v, epoch %s, want %+v", root, err, s.Epoch(), want)
	}
	if r, ok, err := s.Outcome(context.Background(), person, "golden key"); err != nil || !ok || r.First != 1 || string(r.Outcome) != `{"chat":"golden"}` {
		t.Errorf("outcome %+v %v %v", r, ok, err)
	}
	if v, err := s.Keyspace("p/golden/1").Get([]byte("row")); err != nil || string(v) != "value" {
		t.Errorf("row %q %v", v, err)
	}
	_, err = s.Append(context.Background(), one("chat/golden", events.WhileOpen("r2"), chunk("r2", "still open")))
	if err != nil {
		t.Errorf("scope: %v", err)
	}
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// recordGolden writes one event of each shape that the store treats apart, some
// in tables and some in the log file only.
func recordGolden(t *testing.T, dir string) {
	t.Helper()
	at, err := time.Parse(time.RFC3339, goldenTime)
	if err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "data")
	s, err := Open(data, Options{Release: filepath.Base(dir), Now: func() time.Time { at = at.Add(time.Millisecond); return at }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	created := one("chat/golden", events.Exactly(0), events.New{Payload: events.ChatCreated{Chat: "golden", Owner: "u1", Kind: events.KindChat, Model: "m1", Title: "<Götter> & \"Würfel\""}},
		events.New{Payload: events.MessageSubmitted{Message: "m1", Text: "Hello 👋\n\u2028 end"}}, events.New{Payload: events.ReplyRequested{Reply: "r1", Reason: events.ForMessage}})
	created.Key, created.KeyBody, created.Outcome = "golden key", []byte("body"), json.RawMessage(`{"chat":"golden"}`)
	mustAppend(t, s, created)
	for range 300 { // past a stored node
		b := one("chat/golden", events.WhileOpen("r1"), chunk("r1", "token "))
		b.Actor = events.Actor{Kind: events.Model, ID: "m1"}
		mustAppend(t, s, b)
	}
	mustAppend(t, s, events.Batch{Actor: events.Actor{Kind: events.Job, ID: "j1"}, Parts: []events.Part{
		{Stream: "chat/golden", Events: []events.New{{Payload: events.ReplyFinished{Reply: "r1", Status: events.Complete}}}},
		{Stream: "chat/other", Events: []events.New{rename("x"), {Payload: events.ConsentRequested{Consent: "c1", Kind: "approval", Expires: goldenTime}}}},
		{Stream: "instance", Events: []events.New{{Payload: events.SettingChanged{Key: "signup", Value: events.RawJSON("null")}}}}}})
	if err := s.db.Flush(); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, s, one("chat/imported", events.Exactly(0), raw(nil), raw(func(e *events.Envelope) { e.Type, e.TypeVersion, e.Actor.Kind = "future.thing", 7, "robot" })))
	mustAppend(t, s, one("chat/golden", events.Any(), events.New{Payload: events.ReplyRequested{Reply: "r2", Reason: events.ForMessage}}))
	rows := s.Keyspace("p/golden/1").NewBatch()
	rows.Set([]byte("row"), []byte("value"))
	if err := rows.CommitSync(); err != nil {
		t.Fatal(err)
	}
	var lines []byte
	for _, e := range all(t, s, "", 0) {
		lines = append(e.AppendJSON(lines), '\n')
	}
	root, err := s.Root(s.Head())
	if err != nil {
		t.Fatal(err)
	}
	want := must(json.Marshal(map[string]string{"Epoch": s.Epoch(), "Root": root.String()}))
	err = firstOf(os.WriteFile(filepath.Join(dir, "log.jsonl"), lines, 0o600), os.WriteFile(filepath.Join(dir, "want.json"), append(want, '\n'), 0o600))
	if err != nil {
		t.Fatal(err)
	}
}
