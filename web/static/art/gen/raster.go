package main

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math"
	"sort"
)

func hypot(x, y float64) float64 { return math.Hypot(x, y) }

// iconSpec is one PNG: size in pixels, scale of the mark in the square, and the
// corners' radius as a share of the size (0: a full square, for masks).
type iconSpec struct {
	size  int
	scale float64
	round float64
}

// samples is the side of the grid of samples in each pixel.
const samples = 5

// png draws the mark on its stone.
func (s iconSpec) png() []byte {
	stone := hex(slate)
	layers := []layer{
		{s.place(wafer()), hex(gold)},
		{s.place(leaf(3.2)), stone},
		{s.place(leaf(0), rib()), hex(green)},
	}
	img := image.NewNRGBA(image.Rect(0, 0, s.size, s.size))
	for y := range s.size {
		sums := make([][4]float64, s.size)
		for i := range samples {
			s.row(float64(y)+(float64(i)+.5)/samples, layers, stone, sums)
		}
		for x, sum := range sums {
			if n := sum[3]; n > 0 {
				img.SetNRGBA(x, y, color.NRGBA{uint8(sum[0] / n), uint8(sum[1] / n), uint8(sum[2] / n), uint8(n * 255 / (samples * samples))})
			}
		}
	}
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, img); err != nil {
		panic("encoding to memory: " + err.Error())
	}
	return out.Bytes()
}

// layer is outlines filled by the even-odd rule.
type layer struct {
	outlines [][]point
	fill     color.NRGBA
}

// row adds one line of samples to the sums of its pixels: red, green, blue, and
// how many samples were on the stone.
func (s iconSpec) row(y float64, layers []layer, stone color.NRGBA, sums [][4]float64) {
	cuts := make([][]float64, len(layers))
	for i, l := range layers {
		cuts[i] = crossings(y, l.outlines)
	}
	for n := range s.size * samples {
		x := (float64(n) + .5) / samples
		if !s.inside(point{x, y}) {
			continue
		}
		c := stone
		for i, l := range layers {
			if sort.SearchFloat64s(cuts[i], x)%2 == 1 {
				c = l.fill
			}
		}
		sum := &sums[n/samples]
		sum[0] += float64(c.R)
		sum[1] += float64(c.G)
		sum[2] += float64(c.B)
		sum[3]++
	}
}

// inside says whether p is on the stone.
func (s iconSpec) inside(p point) bool {
	size, r := float64(s.size), s.round*float64(s.size)
	dx, dy := max(r-p.x, p.x-(size-r), 0), max(r-p.y, p.y-(size-r), 0)
	return r == 0 || dx*dx+dy*dy <= r*r
}

// place moves curves from the mark's square to the picture and flattens them.
func (s iconSpec) place(curves ...curve) [][]point {
	unit := float64(s.size) / 64 * s.scale * .86
	left := (float64(s.size) - 64*unit) / 2
	var out [][]point
	for _, c := range curves {
		var line []point
		for _, p := range c.flatten() {
			line = append(line, point{left + p.x*unit, left + p.y*unit - unit})
		}
		out = append(out, line)
	}
	return out
}

// flatten makes straight pieces of the segments.
func (c curve) flatten() []point {
	const pieces = 24
	line := []point{c[0]}
	for i := 1; i+2 < len(c); i += 3 {
		a, b, d, e := c[i-1], c[i], c[i+1], c[i+2]
		for n := 1; n <= pieces; n++ {
			t := float64(n) / pieces
			u := 1 - t
			line = append(line, point{
				u*u*u*a.x + 3*u*u*t*b.x + 3*u*t*t*d.x + t*t*t*e.x,
				u*u*u*a.y + 3*u*u*t*b.y + 3*u*t*t*d.y + t*t*t*e.y,
			})
		}
	}
	return line
}

// crossings is where a horizontal line meets the outlines, sorted.
func crossings(y float64, outlines [][]point) []float64 {
	var xs []float64
	for _, line := range outlines {
		for i, j := 0, len(line)-1; i < len(line); j, i = i, i+1 {
			a, b := line[i], line[j]
			if (a.y > y) != (b.y > y) {
				xs = append(xs, (b.x-a.x)*(y-a.y)/(b.y-a.y)+a.x)
			}
		}
	}
	sort.Float64s(xs)
	return xs
}

// hex reads #rrggbb.
func hex(s string) color.NRGBA {
	digit := func(i int) uint8 {
		c := s[i]
		if c >= 'a' {
			return c - 'a' + 10
		}
		return c - '0'
	}
	return color.NRGBA{digit(1)<<4 | digit(2), digit(3)<<4 | digit(4), digit(5)<<4 | digit(6), 255}
}
