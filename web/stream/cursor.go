package stream

import (
	"net/http"
	"strconv"
	"strings"

	"lembas/events"
)

// position reads where a follower wants to go on: Last-Event-ID wins over
// after, and neither is given. A cursor is EPOCH.POSITION or a bare position.
// The reason is why it cannot be used ("bad", "foreign", "future"), "" when it
// can.
func position(r *http.Request, log events.Log) (at events.Position, given bool, reason string) {
	text := r.Header.Get("Last-Event-ID")
	if text == "" {
		text = r.URL.Query().Get("after")
	}
	if text == "" {
		return 0, false, ""
	}
	number := text
	if dot := strings.LastIndexByte(text, '.'); dot >= 0 {
		number = text[dot+1:]
		if text[:dot] != log.Epoch() {
			return 0, true, "foreign"
		}
	}
	n, err := strconv.ParseUint(number, 10, 64)
	if err != nil {
		return 0, true, "bad"
	}
	if events.Position(n) > log.Head() {
		return 0, true, "future"
	}
	return events.Position(n), true, ""
}
