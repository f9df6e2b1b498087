package store

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"lembas/events"
)

// recorded is the head as a power cut now would leave it.
func recorded(t *testing.T, fs *vfs.MemFS) events.Position {
	t.Helper()
	h, err := readRecord(fs.CrashClone(vfs.CrashCloneCfg{}), "data/head")
	if err != nil {
		t.Fatal(err)
	}
	return h.position
}

func TestHeadIsRecordedWithEachConsent(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s := open(t, fs, Options{})
	mustAppend(t, s, one("chat/a", events.Any(), rename("x")))
	r := mustAppend(t, s, one("chat/a", events.Any(), events.New{Payload: events.ConsentAnswered{Consent: "c"}}))
	if got := recorded(t, fs); got != r.Last {
		t.Errorf("recorded %d, the consent is at %d", got, r.Last)
	}
	mustAppend(t, s, one("chat/a", events.Any(), rename("y")))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got := recorded(t, fs); got != 3 {
		t.Errorf("recorded %d at the end", got)
	}
}

func TestHeadIsRecordedSoonAfterAnyAppend(t *testing.T) {
	mem := vfs.NewCrashableMem()
	var mu sync.Mutex // guards watching
	watching := false
	synced := make(chan struct{}, 1)
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		mu.Lock()
		defer mu.Unlock()
		if watching && op.Kind == errorfs.OpFileSyncData && strings.HasSuffix(op.Path, "head") {
			select {
			case synced <- struct{}{}:
			default:
			}
		}
		return nil
	}))
	s := open(t, fs, Options{})
	mu.Lock()
	watching = true
	mu.Unlock()
	mustAppend(t, s, one("chat/a", events.Any(), rename("x")))
	<-synced // after a second
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestTornSlotLeavesTheOther(t *testing.T) {
	fs := vfs.NewMem()
	f, err := fs.Create("head", vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	r, err := openRecord(fs, "head", slot{position: 5, epoch: strings.Repeat("e", epochSize)})
	if err != nil {
		t.Fatal(err)
	}
	r.note(6, r.slot.root)
	if err := r.write(); err != nil {
		t.Fatal(err)
	}
	if h, err := readRecord(fs, "head"); err != nil || h.position != 6 {
		t.Errorf("written: %d %v", h.position, err)
	}
	if _, err := r.file.WriteAt([]byte("torn"), int64(1-r.synced)*slotStride+20); err != nil {
		t.Fatal(err)
	}
	if h, err := readRecord(fs, "head"); err != nil || h.position != 5 {
		t.Errorf("torn: %d %v", h.position, err)
	}
}

func TestVerifyWhileAppending(t *testing.T) {
	s := open(t, vfs.NewMem(), Options{memTable: 64 << 10})
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := s.Append(context.Background(), one("chat/a", events.Any(), rename("x"), rename("y"))); err != nil {
				t.Error(err)
			}
		}
	}()
	var last events.Position
	for last < 2000 {
		heard := events.Position(0)
		r, err := s.Verify(context.Background(), func(done, total events.Position) { heard = done })
		if err != nil {
			t.Fatal(err)
		}
		if heard != r.Head || r.Head < last {
			t.Errorf("verified %d, heard of %d, before %d", r.Head, heard, last)
		}
		last = r.Head
	}
	close(stop)
	<-done
}
