package export

import (
	"bufio"
	"io"
	"iter"

	"lembas/events"
)

// Format is one way to write a chat.
type Format struct {
	Name string // md, html, json or jsonl
	Type string // its media type
}

// Formats lists them, the readable ones first.
func Formats() []Format {
	return []Format{
		{Name: "md", Type: "text/markdown; charset=utf-8"},
		{Name: "html", Type: "text/html; charset=utf-8"},
		{Name: "json", Type: "application/json"},
		{Name: "jsonl", Type: "application/x-ndjson"},
	}
}

// Lines writes envelopes one a line, in their order, as they are stored. It
// holds one at a time.
func Lines(w io.Writer, stream iter.Seq2[events.Envelope, error]) error {
	out := bufio.NewWriter(w)
	var line []byte
	for e, err := range stream {
		if err != nil {
			return err
		}
		line = append(e.AppendJSON(line[:0]), '\n')
		if _, err := out.Write(line); err != nil {
			return err
		}
	}
	return out.Flush()
}
