package markdown

import "html/template"

type Stream struct {
	r    *Renderer
	p, t string
}

func (r *Renderer) NewStream(prefix string) *Stream { return &Stream{r: r, p: prefix} }
func (s *Stream) Append(t string)                   { s.t += t }
func (s *Stream) State() template.HTML              { return s.r.Render(s.p, s.t) }
