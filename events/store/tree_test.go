package store

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"golang.org/x/mod/sumdb/tlog"

	"lembas/events"
)

// plainTree keeps every hash of the tree, as tlog does by itself.
type plainTree struct{ hashes []tlog.Hash }

func (p *plainTree) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	var out []tlog.Hash
	for _, i := range indexes {
		out = append(out, p.hashes[i])
	}
	return out, nil
}

func (p *plainTree) add(t *testing.T, n int64, leaf tlog.Hash) {
	t.Helper()
	h, err := tlog.StoredHashesForRecordHash(n, leaf, p)
	if err != nil {
		t.Fatal(err)
	}
	p.hashes = append(p.hashes, h...)
}

func TestTreeIsTlogs(t *testing.T) {
	fs := vfs.NewMem()
	s := open(t, fs, Options{})
	const n = 1300 // past five stored nodes
	for i := 0; i < n; i += 130 {
		var news []events.New
		for j := range 130 {
			news = append(news, rename(fmt.Sprint(i+j)))
		}
		mustAppend(t, s, one("chat/a", events.Any(), news...))
	}
	_ = s.Close()
	s = open(t, fs, Options{})
	plain := &plainTree{}
	var leaves []tlog.Hash
	for _, e := range all(t, s, "", 0) {
		salt, err := s.ReadSalt(e.Position)
		if err != nil || len(salt) != events.SaltSize {
			t.Fatal(salt, err)
		}
		leaf := tlog.RecordHash(events.LeafData(e.Header(), events.PayloadHash(salt, e.Data)))
		leaves = append(leaves, leaf)
		plain.add(t, int64(e.Position-1), leaf)
	}
	for _, size := range []int64{0, 1, 2, 3, 255, 256, 257, 511, 512, 1023, 1024, 1025, n} {
		want, err := tlog.TreeHash(size, plain)
		if err != nil {
			t.Fatal(err)
		}
		root, err := s.Root(events.Position(size))
		if err != nil || root != want {
			t.Fatalf("root of %d: %v %v, want %v", size, root, err, want)
		}
		for _, p := range []int64{1, 2, 255, 256, 257, size} {
			if p > size || p < 1 {
				continue
			}
			proof, err := s.InclusionProof(events.Position(p), events.Position(size))
			if err != nil {
				t.Fatal(err)
			}
			if err := tlog.CheckRecord(proof, size, root, p-1, leaves[p-1]); err != nil {
				t.Errorf("record %d in %d: %v", p, size, err)
			}
			old, err := s.Root(events.Position(p))
			if err != nil {
				t.Fatal(err)
			}
			grown, err := s.ConsistencyProof(events.Position(p), events.Position(size))
			if err != nil {
				t.Fatal(err)
			}
			if err := tlog.CheckTree(grown, size, root, p, old); err != nil {
				t.Errorf("tree of %d in %d: %v", p, size, err)
			}
		}
	}
	for name, err := range map[string]error{
		"root past the head":       second(s.Root(n + 1)),
		"proof of position 0":      second(s.InclusionProof(0, 5)),
		"proof past the tree":      second(s.InclusionProof(6, 5)),
		"tree past the head":       second(s.InclusionProof(1, n+1)),
		"growth from nothing":      second(s.ConsistencyProof(0, 5)),
		"growth to a smaller tree": second(s.ConsistencyProof(6, 5)),
	} {
		if !errors.Is(err, events.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// An event that was erased keeps its leaf.
func TestErasedEventKeepsItsLeaf(t *testing.T) {
	e := events.Envelope{Position: 7, Stream: "chat/a", Version: 3, Type: "message.submitted", TypeVersion: 1, Actor: person,
		Data: []byte(`{"text":"secret"}`)}
	salt := []byte(strings.Repeat("s", events.SaltSize))
	hash := events.PayloadHash(salt, e.Data)
	before, err := parseEvent(appendEvent(nil, &e, salt))
	if err != nil {
		t.Fatal(err)
	}
	want, err := before.leaf(&e)
	if err != nil {
		t.Fatal(err)
	}
	e.Data = fmt.Appendf(nil, `{"erased":"%x"}`, hash)
	after, err := parseEvent(appendEvent(nil, &e, nil))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := after.leaf(&e); err != nil || got != want {
		t.Errorf("leaf %v %v, was %v", got, err, want)
	}
}
