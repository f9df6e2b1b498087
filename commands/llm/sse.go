package llm

import (
	"bytes"
	"errors"
)

// errTooLong: a line, an event or one JSON text is longer than Endpoint.MaxLine.
var errTooLong = errors.New("longer than the limit for one line")

// frame is one payload as it stood in the body.
type frame struct {
	event string // SSE event name, "" when there was none
	data  []byte // valid until the callback returns
	err   bool   // it came as an SSE field called error
	bare  bool   // a line that is no field we know
	cut   bool   // the body ended in the middle of it, or right behind it
}

// reader cuts a response body into payloads. It is fed as bytes arrive, and looks at each byte once, so the result does
// not depend on where the network cut the body. What the body is (event stream, JSON, a web page) is decided by
// its first character, never by its content type.
type reader struct {
	max  int // bytes in one line, event or JSON text
	emit func(frame) error

	mode    mode
	bom     int    // bytes of a leading byte order mark seen
	line    []byte // the unfinished line
	afterCR bool   // the last byte was a CR that ended a line; an LF is part of it
	event   string
	data    []byte
	has     bool // data has been set, be it to nothing
	whole   bool // data is one finished JSON text
	inData  scanner
	json    scanner
	ending  bool
}

type mode int

const (
	modeSniff mode = iota
	modeSSE
	modeJSON // JSON texts one after the other, as a body or between lines
	modePage // a web page: line holds its beginning
)

const bom = "\xEF\xBB\xBF"

// pageHead is how much of a web page is kept, in bytes: enough for its title.
const pageHead = 4 << 10

func (r *reader) feed(p []byte) error {
	for len(p) > 0 {
		switch r.mode {
		case modeSniff:
			p = r.sniff(p)
		case modePage:
			r.line = append(r.line, p[:min(len(p), max(0, pageHead-len(r.line)))]...)
			return nil
		case modeJSON:
			n, err := r.feedJSON(p)
			if err != nil {
				return err
			}
			p = p[n:]
		default:
			return r.feedLines(p)
		}
	}
	return nil
}

// sniff skips a byte order mark and white space, and decides what the body is.
func (r *reader) sniff(p []byte) []byte {
	for len(p) > 0 {
		c := p[0]
		switch {
		case r.bom < len(bom) && c == bom[r.bom]:
			r.bom++
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			r.bom = len(bom)
		case c == '<':
			r.mode = modePage
			return p
		case c == '{' || c == '[':
			r.mode = modeJSON
			return p
		default:
			r.mode = modeSSE
			return p
		}
		p = p[1:]
	}
	return p
}

// feedJSON takes bytes up to the end of one JSON text. Anything else between texts than white space is read as lines, so
// "data: [DONE]" glued to an object is understood.
func (r *reader) feedJSON(p []byte) (int, error) {
	if !r.json.begun {
		skip := len(p) - len(bytes.TrimLeft(p, " \t\r\n"))
		p = p[skip:]
		if len(p) > 0 && p[0] != '{' && p[0] != '[' {
			r.mode = modeSSE
			return skip, nil
		}
		n, err := r.collect(p)
		return skip + n, err
	}
	return r.collect(p)
}

func (r *reader) collect(p []byte) (int, error) {
	end := r.json.feed(p)
	n := end
	if end < 0 {
		n = len(p)
	}
	if len(r.line)+n > r.max {
		return 0, errTooLong
	}
	r.line = append(r.line, p[:n]...)
	if end < 0 {
		return n, nil
	}
	r.json = scanner{}
	err := r.emit(frame{data: r.line})
	r.line = r.line[:0]
	return n, err
}

func (r *reader) feedLines(p []byte) error {
	for len(p) > 0 {
		if r.afterCR && p[0] == '\n' {
			p = p[1:]
			r.afterCR = false
			continue
		}
		r.afterCR = false
		i := bytes.IndexAny(p, "\r\n")
		n := i
		if i < 0 {
			n = len(p)
		}
		if len(r.line)+n > r.max {
			return errTooLong
		}
		r.line = append(r.line, p[:n]...)
		if i < 0 {
			return nil
		}
		r.afterCR = p[i] == '\r'
		err := r.endLine()
		r.line = r.line[:0]
		if err != nil {
			return err
		}
		p = p[i+1:]
	}
	return nil
}

func (r *reader) endLine() error {
	line := r.line
	if len(line) == 0 {
		return r.dispatch()
	}
	if line[0] == '{' { // not a field; some servers drop a bare error object into the stream
		if err := r.dispatch(); err != nil {
			return err
		}
		return r.emit(frame{data: line, bare: true})
	}
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "data":
		return r.addData(value)
	case "event":
		r.event = string(value)
	case "error":
		return r.emit(frame{event: r.event, data: value, err: true})
	case "", "id", "retry":
		return nil
	}
	return r.emit(frame{data: line, bare: true})
}

// addData joins the data lines of one event. A line that begins a new object behind a finished one is sent on at once:
// by the grammar both are one event, but its end may be the end of the reply.
func (r *reader) addData(value []byte) error {
	if r.has && (kindOf(value) == '{' || isDone(value)) && r.whole {
		event := r.event
		if err := r.dispatch(); err != nil {
			return err
		}
		r.event = event
	}
	if r.has {
		r.data = append(r.data, '\n')
	}
	if len(r.data)+len(value) > r.max {
		return errTooLong
	}
	r.data = append(r.data, value...)
	r.has = true
	if n := r.inData.feed(value); !r.whole && n >= 0 {
		r.whole = len(bytes.TrimSpace(value[n:])) == 0
	}
	return nil
}

func (r *reader) dispatch() error {
	f := frame{event: r.event, data: r.data, cut: r.ending}
	had := r.has
	r.event, r.has, r.whole, r.inData = "", false, false, scanner{}
	defer func() { r.data = r.data[:0] }()
	if !had {
		return nil
	}
	return r.emit(f)
}

// end is the end of the body: an unfinished line and a pending event count.
func (r *reader) end() error {
	r.ending = true
	switch r.mode {
	case modeJSON:
		if len(r.line) > 0 {
			return r.emit(frame{data: r.line, cut: true})
		}
	case modeSSE:
		if len(r.line) > 0 {
			if err := r.endLine(); err != nil {
				return err
			}
			r.line = r.line[:0]
		}
		return r.dispatch()
	}
	return nil
}

func isDone(p []byte) bool { return string(bytes.TrimSpace(p)) == "[DONE]" }
