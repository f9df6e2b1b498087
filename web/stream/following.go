package stream

import (
	"context"
	"slices"

	"lembas/events"
)

// following is a follower's place in one feed.
type following struct {
	feed  *feed // nil for the person's
	tail  *tail
	place *node           // the last frame that was sent, or need not be
	from  events.Position // events up to here were sent, or need not be
	own   *node           // a frame for this follower alone, before the others
}

// catchUp makes one frame of all that a follower behind the tail missed.
func (s *following) catchUp(ctx context.Context, h *Hub) error {
	frame, err := h.catchUp(ctx, s.feed.chat, s.from)
	if err != nil || frame.Position <= s.from {
		return err
	}
	var data []byte
	if len(frame.Ops) > 0 {
		if data, err = frame.encode(h.Log.Epoch(), s.feed.chat); err != nil {
			return err
		}
	}
	s.take(&node{position: frame.Position, data: data, events: frame.events})
	return nil
}

// take puts a frame for this follower before all others. One that shows nothing
// is as good as sent.
func (s *following) take(own *node) {
	switch {
	case own == nil:
	case len(own.data) == 0:
		s.from = max(s.from, own.position)
	default:
		s.own = own
	}
}

// peek is the next frame to send, nil when there is none.
func (s *following) peek() *node {
	if s.own != nil {
		return s.own
	}
	for n := s.place.next.Load(); n != nil; n = s.place.next.Load() {
		if n.position > s.from {
			return n
		}
		s.place = n
	}
	return nil
}

// due is the first event of the frame that peek gave which was not sent.
func (s *following) due(n *node) events.Position {
	i, _ := slices.BinarySearch(n.events, s.from+1)
	if i == len(n.events) {
		return n.position
	}
	return n.events[i]
}

// clear is a position up to which nothing of the feed is due, not above top,
// which is durable. unread says that it is not known: the feed has still to
// read the log.
func (s *following) clear(ctx context.Context, log events.Log, top events.Position) (at events.Position, unread bool, err error) {
	if s.feed == nil { // what a person's may still bring, a list that is sent anew makes good
		if n := s.peek(); n != nil {
			return min(s.due(n), top), false, nil // it goes together with the chat's frame of its position
		}
		return top, false, nil
	}
	read := events.Position(s.feed.at.Load()) // before peek: all up to it is in the tail by now
	if n := s.peek(); n != nil {
		return min(s.due(n)-1, top), false, nil
	}
	if read >= top {
		return top, false, nil
	}
	st, err := log.Stream(ctx, s.feed.stream)
	return top, st.Last > read, err
}

// pass moves past the frame that peek gave, or past its events up to an id.
func (s *following) pass(n *node, id events.Position) {
	s.from = id
	if id < n.position {
		return
	}
	if s.own == n {
		s.own = nil
	} else {
		s.place = n
	}
}
