package projections

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"lembas/events"
	"lembas/events/store"
)

// Projection is state derived from the log.
type Projection interface {
	// Name is a word; it names the keyspace.
	Name() string
	// Version is raised when Apply would make other rows than before.
	Version() int
	// Types are the event types that Apply wants to see. Others are skipped
	// before they are decoded.
	Types() []string
	// Apply changes rows as one event says. The payload is as events.Decode gives
	// it, so it may be events.Erased or events.Unknown. An error stops the
	// Runner: it means damage or a bug, never odd input.
	Apply(ctx context.Context, tx *Tx, e *events.Envelope, p events.Payload) error
}

var (
	checkpointKey = []byte("c")
	rowPrefix     = []byte("r")
)

func keyspace(st *store.Store, name string) *store.Keyspace { return st.Keyspace("p/" + name) }

func rowKey(key []byte) []byte { return append(bytes.Clone(rowPrefix), key...) }

// rows is what a projection reads: its rows in a transaction, or those of one
// moment.
type rows interface {
	// Get gives the value of a key, or an error that matches ErrNotFound.
	Get(key []byte) ([]byte, error)
	// Scan yields the rows of lower ≤ key < upper in order. The key and value are
	// valid until the next row.
	Scan(lower, upper []byte) iter.Seq2[store.Row, error]
}

// Tx is the rows of one projection with the changes of the events since the
// last commit. Not for several goroutines.
type Tx struct {
	ks      *store.Keyspace
	changes map[string][]byte // nil is deleted
}

// Get implements rows. The value must not be changed.
func (t *Tx) Get(key []byte) ([]byte, error) {
	if v, ok := t.changes[string(key)]; ok {
		if v == nil {
			return nil, events.ErrNotFound
		}
		return v, nil
	}
	return t.ks.Get(rowKey(key))
}

// Set puts a row. The value is kept and must not be changed after it.
func (t *Tx) Set(key, value []byte) {
	if value == nil {
		value = []byte{}
	}
	t.changes[string(key)] = value
}

// Delete removes a row; one that is not there is no error.
func (t *Tx) Delete(key []byte) { t.changes[string(key)] = nil }

// Scan implements rows. Changes during a scan are not seen by it.
func (t *Tx) Scan(lower, upper []byte) iter.Seq2[store.Row, error] {
	var changed []string
	for k := range t.changes {
		if k >= string(lower) && k < string(upper) {
			changed = append(changed, k)
		}
	}
	slices.Sort(changed)
	values := make([][]byte, len(changed))
	for i, k := range changed {
		values[i] = t.changes[k]
	}
	stored := reader{t.ks}.Scan(lower, upper)
	return func(yield func(store.Row, error) bool) {
		i := 0
		// before yields the changed rows below a key, and steps over that key.
		before := func(key string, all bool) bool {
			for ; i < len(changed) && (all || changed[i] < key); i++ {
				if values[i] != nil && !yield(store.Row{Key: []byte(changed[i]), Value: values[i]}, nil) {
					return false
				}
			}
			return true
		}
		for row, err := range stored {
			if err == nil && !before(string(row.Key), false) {
				return
			}
			if err == nil && i < len(changed) && changed[i] == string(row.Key) {
				continue // it comes from the changes
			}
			if !yield(row, err) || err != nil {
				return
			}
		}
		before("", true)
	}
}

// write puts the changes and the checkpoint into one batch.
func (t *Tx) write(c checkpoint) error {
	b := t.ks.NewBatch()
	for k, v := range t.changes {
		if v == nil {
			b.Delete(rowKey([]byte(k)))
		} else {
			b.Set(rowKey([]byte(k)), v)
		}
	}
	b.Set(checkpointKey, c.append(nil))
	if err := b.Commit(); err != nil {
		return err
	}
	clear(t.changes)
	return nil
}

// reader reads the rows of a projection from a keyspace or one moment of it.
type reader struct {
	from interface {
		Get(key []byte) ([]byte, error)
		Iter(lower, upper []byte) iter.Seq2[store.Row, error]
	}
}

// Get implements rows.
func (r reader) Get(key []byte) ([]byte, error) { return r.from.Get(rowKey(key)) }

// Scan implements rows.
func (r reader) Scan(lower, upper []byte) iter.Seq2[store.Row, error] {
	return func(yield func(store.Row, error) bool) {
		for row, err := range r.from.Iter(rowKey(lower), rowKey(upper)) {
			if err == nil {
				row.Key = row.Key[len(rowPrefix):]
			}
			if !yield(row, err) {
				return
			}
		}
	}
}

// view shows the rows of a projection as they are at this moment.
func view(ks *store.Keyspace, f func(rows) error) error {
	return ks.View(func(v *store.View) error { return f(reader{v}) })
}

// checkpoint is how far which version of a projection has come.
type checkpoint struct {
	version  int
	position events.Position
}

func (c checkpoint) append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(c.version))
	return binary.AppendUvarint(dst, uint64(c.position))
}

// readCheckpoint gives the zero checkpoint where there is none or none that can
// be read: the projection is built again.
func readCheckpoint(ks *store.Keyspace) (checkpoint, error) {
	v, err := ks.Get(checkpointKey)
	if errors.Is(err, events.ErrNotFound) {
		return checkpoint{}, nil
	}
	if err != nil {
		return checkpoint{}, err
	}
	version, n := binary.Uvarint(v)
	if n <= 0 {
		return checkpoint{}, nil
	}
	position, n := binary.Uvarint(v[n:])
	if n <= 0 {
		return checkpoint{}, nil
	}
	return checkpoint{version: int(version), position: events.Position(position)}, nil
}

// getJSON reads a row into v; false when there is none.
func getJSON(r rows, key []byte, v any) (bool, error) {
	b, err := r.Get(key)
	if errors.Is(err, events.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, parseRow(b, v)
}

func parseRow(b []byte, v any) error {
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%w: row of a projection: %w", events.ErrDamaged, err)
	}
	return nil
}

// rowJSON is v as it is stored: without HTML's escapes, which would double the
// size of code.
func rowJSON(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("row of a projection: %w", err)
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

func setJSON(tx *Tx, key []byte, v any) error {
	b, err := rowJSON(v)
	if err == nil {
		tx.Set(key, b)
	}
	return err
}

// after is the first key past all that begin with a prefix, which ends with a
// byte below 0xff.
func after(prefix []byte) []byte {
	end := bytes.Clone(prefix)
	end[len(end)-1]++
	return end
}

// matches says whether one of the texts has the words of a query in it,
// whatever their case. An empty query matches.
func matches(query string, texts ...string) bool {
	query = strings.ToLower(strings.TrimSpace(query))
	return query == "" || slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(strings.ToLower(s), query) })
}
