package markdown

import "testing"

type page struct{ s *Stream }

func newPage(r *Renderer) *page            { return &page{r.NewStream("m1")} }
func (p *page) add(t testing.TB, c string) { p.s.Append(c) }
func (p *page) finish(t testing.TB)        {}
func (p *page) serial() string             { return string(p.s.State()) }
