// Package stream sends what happens, as it happens: the raw events of chats to
// API clients, and ready-made frames to pages.
//
// A follower is one loop with one cursor: read, write, flush, wait. Nobody
// sends to a follower; it is woken and reads on from where it was, so a slow
// one costs nobody anything and there is no seam between old and new.
//
// Frames of a chat are made once, by its Feed, whoever watches: a frame is a
// pure function of the chat's events, it is absolute (it may be applied again),
// and a page rendered at any position that then applies all later frames shows
// what a fresh page shows. Each follower is a pointer into the feed's tail; one
// that is behind the tail gets the whole state in its first frame.
//
// The id of a frame holds for all that its connection follows: whoever comes
// back with it misses no event up to it of any chat. A frame with events of
// other chats between its own is therefore sent more than once, under ids that
// rise to its position.
//
// It imports events, commands, projections/transcript, web/request,
// web/templates, web/markdown and web/pages/view.
package stream
