package main

import (
	"fmt"
	"strings"
)

// The mark is a wafer wrapped in a leaf, on a square of 64 units: a rounded
// diamond, and a leaf with its rib laid over the lower left of it. Where the
// two meet, the leaf keeps a clear edge, so the mark holds in one colour too.

// Point is a place in the drawing's units.
type point struct{ x, y float64 }

// curve is a closed outline of cubic segments: start, then three points each.
type curve []point

// wafer is a diamond with rounded corners around (36, 28).
func wafer() curve {
	const cx, cy, r, k = 35.0, 29.0, 26.0, 8.0 // r: centre to corner, k: rounding
	corners := []point{{cx, cy - r}, {cx + r, cy}, {cx, cy + r}, {cx - r, cy}}
	var c curve
	for i, p := range corners {
		before, after := corners[(i+3)%4], corners[(i+1)%4]
		from, to := toward(p, before, k), toward(p, after, k)
		if i == 0 {
			c = append(c, from)
		} else {
			last := c[len(c)-1]
			c = append(c, toward(last, from, 1), toward(from, last, 1), from)
		}
		c = append(c, toward(from, p, k*0.62), toward(to, p, k*0.62), to)
	}
	last, first := c[len(c)-1], c[0]
	return append(c, toward(last, first, 1), toward(first, last, 1), first)
}

// leaf is a pointed leaf from the stem at the lower left to the tip at the
// upper right; grow widens it for the clear edge.
func leaf(grow float64) curve {
	stem, tip := point{6 - grow*.6, 60 + grow*.6}, point{43 + grow, 17 - grow}
	return curve{stem,
		{5 - grow*1.3, 38 - grow}, {17 - grow*1.1, 20 - grow*1.6}, tip,
		{46 + grow*1.4, 38 + grow*.9}, {30 + grow, 56 + grow*1.5}, stem}
}

// rib is the leaf's middle, a slit from the stem that tapers off.
func rib() curve {
	return curve{{10.4, 54}, {16, 45}, {24, 36}, {34, 28}, {27, 38}, {20, 47}, {13.2, 54.6}, {12, 56}, {9.4, 55.6}, {10.4, 54}}
}

// toward is the point d units from a on the way to b.
func toward(a, b point, d float64) point {
	dx, dy := b.x-a.x, b.y-a.y
	l := hypot(dx, dy)
	if l == 0 {
		return a
	}
	return point{a.x + dx/l*d, a.y + dy/l*d}
}

// path writes the curve as SVG path data.
func (c curve) path() string {
	var b strings.Builder
	fmt.Fprintf(&b, "M%s", c[0])
	for i := 1; i+2 < len(c); i += 3 {
		fmt.Fprintf(&b, "C%s %s %s", c[i], c[i+1], c[i+2])
	}
	return b.String() + "Z"
}

func (p point) String() string { return num(p.x) + " " + num(p.y) }

// num prints a coordinate with at most one decimal.
func num(v float64) string {
	s := strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0")
	if s == "-0" {
		return "0"
	}
	return s
}

// The mark's own colours, for places where the theme does not reach.
const (
	slate = "#1b2027"
	gold  = "#e2b45f"
	green = "#7fb069"
	ember = "#ef6a4d"
)

// markSVG is for use inside a page: classes, no ids; the theme colours it.
func markSVG() string {
	return svg(64, 64, "art-mark",
		fmt.Sprintf(`<path class="art-wafer" fill-rule="evenodd" d="%s"/>`, wafer().path()),
		fmt.Sprintf(`<path class="art-gap" d="%s"/>`, leaf(3.2).path()),
		fmt.Sprintf(`<path class="art-leaf" fill-rule="evenodd" d="%s%s"/>`, leaf(0).path(), rib().path()))
}

// faviconSVG is the mark on its stone, with colours of its own.
func faviconSVG() string {
	return svg(64, 64, "",
		fmt.Sprintf(`<rect width="64" height="64" rx="14" fill="%s"/><g transform="translate(3.6 2.6) scale(.9)">`, slate),
		fmt.Sprintf(`<path fill="%s" d="%s"/>`, gold, wafer().path()),
		fmt.Sprintf(`<path fill="%s" d="%s"/>`, slate, leaf(3.2).path()),
		fmt.Sprintf(`<path fill="%s" fill-rule="evenodd" d="%s%s"/></g>`, green, leaf(0).path(), rib().path()))
}

// waitingSVG is the favicon while a card waits: a lamp is lit in its corner.
func waitingSVG() string {
	lamp := fmt.Sprintf(`<circle cx="49" cy="15" r="15" fill="%s"/><circle cx="49" cy="15" r="11" fill="%s"/>`, slate, ember)
	return strings.TrimSuffix(faviconSVG(), "</svg>") + lamp + "</svg>"
}

// lockupSVG is the mark with the name, in outlines of plain strokes so that no
// font is needed.
func lockupSVG() string {
	return svg(264, 64, "art-lockup",
		fmt.Sprintf(`<path class="art-wafer" d="%s"/>`, wafer().path()),
		fmt.Sprintf(`<path class="art-gap" d="%s"/>`, leaf(3.2).path()),
		fmt.Sprintf(`<path class="art-leaf" fill-rule="evenodd" d="%s%s"/>`, leaf(0).path(), rib().path()),
		`<path class="art-word" d="M84 16v32h15M106 16v32h15`+ // L L
			`M148 38h-19c0-7 4-12 10-12s9 4 9 12M129 38c0 6 4 10 10 10 4 0 7-1 9-4`+ // e
			`M157 48v-32l10 20 10-20v32`+ // M
			`M187 16v32M187 37c0-6 4-11 10-11s10 5 10 11-4 11-10 11-10-5-10-11`+ // b
			`M235 26v22M235 37c0-6-4-11-10-11s-10 5-10 11 4 11 10 11 10-5 10-11`+ // a
			`M258 30c-2-3-5-4-8-4-4 0-7 2-7 5 0 8 15 3 15 11 0 4-3 6-8 6-4 0-7-1-9-4"/>`) // s
}

// svg wraps parts; class is "" for a picture that is not inlined.
func svg(w, h int, class string, parts ...string) string {
	attr := ""
	if class != "" {
		attr = fmt.Sprintf(` class="art %s" aria-hidden="true" focusable="false"`, class)
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d"%s>%s</svg>`, w, h, attr, strings.Join(parts, ""))
}
