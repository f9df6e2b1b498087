// Package blob keeps bytes by their SHA-256 beside the log: attachments, whole
// requests, long outputs. The event carries the events.BlobRef, and its batch
// the events.Put, so that both are there or neither is.
//
// The key in the keyspace "blob" is the digest, 32 bytes; the value the bytes as
// they are (the store compresses them).
//
// It may import events and events/store.
package blob
