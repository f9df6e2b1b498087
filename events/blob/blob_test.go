package blob

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"lembas/events"
	"lembas/events/store"
)

func TestBlobsComeWithTheirEvent(t *testing.T) {
	s, err := store.Open("data", store.Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b := New(s)
	for _, data := range [][]byte{nil, []byte("x"), bytes.Repeat([]byte("long "), 1<<20)} {
		ref, put, err := Put(data)
		if err != nil || ref.Size != int64(len(data)) {
			t.Fatal(ref, err)
		}
		if ok, err := b.Exists(ref.Digest); ok || err != nil {
			t.Fatal("there before its event", err)
		}
		_, err = s.Append(context.Background(), events.Batch{Actor: events.Actor{Kind: events.System}, Puts: []events.Put{put},
			Parts: []events.Part{{Stream: "chat/a", Events: []events.New{{Payload: events.ToolFinished{Blob: &ref}}}}}})
		if err != nil {
			t.Fatal(err)
		}
		got, err := b.Get(ref.Digest)
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("got %d bytes, %v; want %d", len(got), err, len(data))
		}
		if ok, err := b.Exists(ref.Digest); !ok || err != nil {
			t.Error("not there", err)
		}
	}
}

func TestBadBlobs(t *testing.T) {
	s, err := store.Open("data", store.Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, digest := range []string{"", "x", "../../etc/passwd", strings.Repeat("0", 64), strings.Repeat("0", 66)} {
		if _, err := New(s).Get(digest); !errors.Is(err, events.ErrNotFound) {
			t.Errorf("%q: %v", digest, err)
		}
	}
	if _, _, err := Put(make([]byte, MaxSize+1)); !errors.Is(err, events.ErrTooLarge) {
		t.Error(err)
	}
	ref, put, _ := Put([]byte("true"))
	rows := s.Keyspace(Space).NewBatch()
	rows.Set(put.Key, []byte("false"))
	if err := rows.Commit(); err != nil {
		t.Fatal(err)
	}
	if _, err := New(s).Get(ref.Digest); !errors.Is(err, events.ErrDamaged) {
		t.Errorf("changed bytes: %v", err)
	}
}
