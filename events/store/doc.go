// Package store is the log in Pebble: append, read, wait, keyspaces.
//
// It may import package events and nothing else of ours.
package store
