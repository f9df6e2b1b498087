package store

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"lembas/events"
)

// gated stops the first sync of the log and the second write of the recorded
// head after it is armed, until the test lets each of them go.
type gated struct {
	sync, write barrier

	mu     sync.Mutex // guards the rest
	armed  bool
	syncs  int
	writes int      // of the recorded head
	head   []string // what was done to it from the second write on
}

type barrier struct{ reached, pass chan struct{} }

func newBarrier() barrier { return barrier{make(chan struct{}), make(chan struct{})} }

func (g *gated) inject(op errorfs.Op) error {
	switch stop := g.stop(op); stop {
	case nil:
	case &g.write:
		close(stop.reached)
		<-stop.pass
		g.mu.Lock()
		g.head = append(g.head, "the group's")
		g.mu.Unlock()
	default:
		close(stop.reached)
		<-stop.pass
	}
	return nil
}

func (g *gated) stop(op errorfs.Op) *barrier {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch isHead := strings.HasSuffix(op.Path, "head"); {
	case !g.armed:
	case isHead && op.Kind == errorfs.OpFileWriteAt:
		if g.writes++; g.writes == 2 { // the first is that of the append alone
			return &g.write
		}
		fallthrough
	case isHead:
		if g.writes > 1 {
			g.head = append(g.head, "Close's")
		}
	case strings.HasSuffix(op.Path, ".log") && (op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData):
		if g.syncs++; g.syncs == 1 {
			return &g.sync
		}
	}
	return nil
}

// TestCloseWaitsForTheRecordOfTheLastGroup: who asked is answered before the
// head of their group is recorded; Close does not write beside it.
func TestCloseWaitsForTheRecordOfTheLastGroup(t *testing.T) {
	g := &gated{sync: newBarrier(), write: newBarrier()}
	s := open(t, errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(g.inject)), Options{OnFatal: func(err error) { t.Errorf("fatal: %v", err) }})
	g.mu.Lock()
	g.armed = true
	g.mu.Unlock()
	var wg sync.WaitGroup
	appendOne := func() {
		if _, err := s.Append(context.Background(), one("chat/a", events.Any(), rename("x"))); err != nil {
			t.Error(err)
		}
	}
	wg.Go(appendOne) // one alone is committed by the appender itself
	<-g.sync.reached
	for range 2 { // these two wait and are committed beside it
		wg.Go(appendOne)
	}
	for len(s.queue) < 2 {
		runtime.Gosched()
	}
	close(g.sync.pass)
	<-g.write.reached
	wg.Wait()
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	<-s.stop
	for range 10_000 { // what would overtake gets every chance
		runtime.Gosched()
	}
	close(g.write.pass)
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if len(g.head) < 2 || g.head[0] != "the group's" {
		t.Errorf("the recorded head was written to in the order %v", g.head)
	}
}
