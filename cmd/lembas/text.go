package main

import (
	"bytes"
	"io"
	"strings"
)

func newReader(b []byte) io.Reader { return bytes.NewReader(b) }

// oneLine is an error's text without line breaks.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
