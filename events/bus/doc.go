// Package bus is the log as a Watermill publisher and subscriber. It drives the
// reactors: an event comes in as a message, and its acknowledgement is durable.
//
// # Topics
//
// A topic that is the name of a registered event type yields the events of that
// type: the UUID is the event's Ref, the payload its envelope as JSON, and the
// metadata says stream, version, position, type, correlation_id and causation.
// Such events are appended by commands, so publishing to it is refused. Any
// other topic has a stream of its own: Publish appends one bus.published for
// each message, and Subscribe reads them.
//
// # Groups
//
// Subscribers with one Group share the messages of a topic: each message goes
// to one of them, until it is acknowledged. A group that is new begins with the
// first event of the log. Without a Group each subscription is alone, begins
// with the first event and keeps nothing.
//
// With OrderTopic the next message comes after the last was acknowledged. With
// OrderStream that holds for the messages of one stream, and an unacknowledged
// message does not hold up other streams.
//
// # What is durable
//
// The keyspace "sub/GROUP/TOPIC" has the row "low" with a position (uvarint)
// below which all messages were acknowledged, and a row "a" with a position (8
// bytes, big endian) for each acknowledged message above it. An acknowledgement
// is one synced write of such a row, beside the appender and not through it.
// "low" follows from the rows, is moved now and then without a sync of its own,
// and takes the rows below it away in the same batch. So after a crash an
// acknowledged message does not come back and an unacknowledged one does. What
// a handler did just before a crash may be done again: it must be idempotent.
//
// Closing, or the end of the context, returns messages without acknowledgement:
// their contexts end, and what Ack says after that is too late.
//
// It may import events and events/store.
package bus
