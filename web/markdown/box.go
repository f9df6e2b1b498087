package markdown

import "slices"

// Frame is a change of what is shown, as operations to be carried out in
// order. Each is absolute: it says how much of the present content stays, so
// applying a frame to a page that is already somewhat further gives the right
// page too.
type Frame []Op

// Op keeps the part of the container that Keep describes, removes what follows
// it, and appends HTML there.
//
// Keep is a way down from the container: all numbers but the last choose an
// element child, by index, to go into, after the children behind it are
// removed; the last says how many element children stay. Only elements count.
type Op struct {
	Keep []int  `json:"keep"`
	HTML string `json:"html"`
}

// box is an element that is still growing, or the container itself. Its
// settled children never change as long as it lives; its tail does.
type box struct {
	parent      *box
	index       int   // among the element children of where the parent keeps its own
	inner       []int // way from its own element to where its children go
	open, close string
	html        []byte // settled children, all elements
	n           int    // how many
	tail        string // unsettled elements behind them, and behind an open child
	dead        bool   // was replaced
	end         int    // closed: where it ends in parent.html

	// What the last frame left.
	sentN     int
	sentBytes int
}

// path leads to where the children of b are.
func (b *box) path() []int {
	if b.parent == nil {
		return nil
	}
	return append(append(b.parent.path(), b.index), b.inner...)
}

// lives: neither b nor anything around it was taken away.
func (b *box) lives() bool {
	for ; b != nil; b = b.parent {
		if b.dead {
			return false
		}
	}
	return true
}

// add settles n elements.
func (b *box) add(html string, n int) {
	b.html = append(b.html, html...)
	b.n += n
}

// tree is the container with its open boxes, outermost first.
type tree struct {
	open []*box
	sent []*box // open at the last frame
}

func newTree() *tree { return &tree{open: []*box{{}}} }

func (t *tree) root() *box { return t.open[0] }
func (t *tree) last() *box { return t.open[len(t.open)-1] }

func (t *tree) push(open, end string, inner ...int) *box {
	p := t.last()
	b := &box{parent: p, index: p.n, inner: inner, open: open, close: end}
	t.open = append(t.open, b)
	return b
}

// pop closes the innermost box: it is a settled child now.
func (t *tree) pop() {
	b := t.last()
	t.open = t.open[:len(t.open)-1]
	b.tail = ""
	b.parent.add(b.open+string(b.html)+b.close, 1)
	b.end = len(b.parent.html)
}

// discard takes the innermost box away, as if it had not been.
func (t *tree) discard() {
	t.last().dead = true
	t.open = t.open[:len(t.open)-1]
}

// reset takes everything away behind the first n children of the container,
// which are the first size bytes of it.
func (t *tree) reset(n, size int) {
	for _, b := range t.sent {
		b.dead = b.dead || b.parent != nil
	}
	for len(t.open) > 1 {
		t.discard()
	}
	r := t.root()
	r.html, r.n, r.tail = r.html[:size], n, ""
	if r.sentN > n {
		r.sentN, r.sentBytes = n, size
	}
}

// string is the whole content of the container.
func (t *tree) string() string {
	r := t.root()
	return string(r.html) + t.after(0)
}

// after renders what is open behind the settled children of open[i].
func (t *tree) after(i int) string {
	s := ""
	if i+1 < len(t.open) {
		b := t.open[i+1]
		s = b.open + string(b.html) + t.after(i+1) + b.close
	}
	return s + t.open[i].tail
}

// frame gives the change since the last one, innermost boxes first: what an
// operation further in removes behind its way, one further out puts back.
func (t *tree) frame() Frame {
	var f Frame
	alive := t.sent[:0:0]
	for _, b := range t.sent {
		if b.lives() {
			alive = append(alive, b)
		}
	}
	if len(alive) == 0 {
		f = Frame{{Keep: []int{0}, HTML: t.string()}}
	}
	for i, b := range slices.Backward(alive) {
		var child *box
		if i+1 < len(alive) {
			child = alive[i+1]
		}
		if op, ok := t.change(b, child); ok {
			f = append(f, op)
		}
	}
	t.mark()
	return f
}

// change gives the operation on b, of whose open children at the last frame
// child is still there. The innermost box always gets one, even without a
// change: a page that was rendered between two frames may show what neither has.
func (t *tree) change(b, child *box) (Op, bool) {
	keep, from := b.sentN, b.sentBytes
	closedChild := false
	if child != nil {
		keep++
		if closedChild = child.index < b.n; closedChild {
			from = child.end
		}
	}
	html := string(b.html[from:])
	at := slices.Index(t.open, b)
	if at >= 0 {
		if child != nil && !closedChild {
			html += b.tail
		} else {
			html += t.after(at)
		}
	}
	if child != nil && html == "" {
		return Op{}, false // the operation on the child cleared what was behind it
	}
	return Op{Keep: append(b.path(), keep), HTML: html}, true
}

func (t *tree) mark() {
	t.sent = append(t.sent[:0], t.open...)
	for _, b := range t.sent {
		b.sentN, b.sentBytes = b.n, len(b.html)
	}
}
