package main

import (
	"fmt"
	"math"
	"strings"
)

// The scenes are 480 by 280 units: a disc in the sky, ridges in three depths,
// and one thing in front. Classes: art-sky (disc), art-far, art-mid, art-near
// (ridges), art-ink (lines), art-glow (the one warm spot), art-dim.

const (
	sceneW = 480
	sceneH = 280
)

// ridge is a skyline from the left to the right edge, closed at the bottom. Its
// height is a sum of waves, so that each seed gives another range.
func ridge(class string, base, height, seed float64, peaks bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "M0 %d", sceneH)
	step := 12.0
	for x := 0.0; x <= sceneW; x += step {
		t := x / sceneW * math.Pi
		y := math.Sin(t*2.1+seed)*.5 + math.Sin(t*4.7+seed*2.3)*.28 + math.Sin(t*9.3+seed*.7)*.14
		if peaks {
			y = 1 - 2*math.Abs(math.Mod(x/sceneW*4.2+seed, 1)-.5)*1.15 + .28*math.Sin(x*.11+seed*3)
		}
		fmt.Fprintf(&b, "L%s %s", num(x), num(base-y*height))
	}
	fmt.Fprintf(&b, "V%dZ", sceneH)
	return fmt.Sprintf(`<path class="%s" d="%s"/>`, class, b.String())
}

// stars are small and few, and always the same ones.
func stars(n int, seed uint32) string {
	var b strings.Builder
	for range n {
		seed = seed*1664525 + 1013904223
		x := 20 + float64(seed>>16%440)
		seed = seed*1664525 + 1013904223
		y := 12 + float64(seed>>16%96)
		fmt.Fprintf(&b, `<circle cx="%s" cy="%s" r="%s"/>`, num(math.Mod(x, 440)+20), num(math.Mod(y, 90)+12), num(.8+float64(seed>>28%3)*.4))
	}
	return `<g class="art-dim">` + b.String() + `</g>`
}

func scene(name string, parts ...string) string {
	return svg(sceneW, sceneH, "art-scene art-"+name, parts...)
}

// road leads over the hills: nothing has been said yet.
func road() string {
	return scene("road",
		stars(14, 7),
		`<circle class="art-sky" cx="338" cy="92" r="34"/>`,
		ridge("art-far", 168, 58, 1.35, true),
		ridge("art-mid", 196, 26, .4, false),
		ridge("art-near", 232, 18, 2.6, false),
		`<path class="art-path" d="M206 280c12-18 70-26 66-42s-62-14-58-28 48-12 44-22-22-8-20-14"/>`,
		`<path class="art-glow" d="M238 168l5 8h-10zM237 176h2v6h-2z"/>`)
}

// door is round, in a hill, and shut: not found, or not yours.
func door() string {
	return scene("door",
		stars(10, 23),
		ridge("art-far", 150, 34, 2.2, false),
		`<path class="art-near" d="M0 280c40-10 74-150 240-150s200 140 240 150Z"/>`,
		`<circle class="art-sky" cx="240" cy="222" r="50"/><circle class="art-mid" cx="240" cy="222" r="42"/>`,
		`<path class="art-ink" d="M240 180v84M220 185v74M260 185v74M203 204v36M277 204v36"/>`,
		`<circle class="art-glow" cx="252" cy="222" r="4.5"/>`,
		`<path class="art-ink" d="M186 272c-14 2-30 6-40 8M294 272c14 2 30 6 40 8"/>`,
		`<g class="art-dim"><circle cx="168" cy="176" r="3"/><circle cx="318" cy="182" r="3"/><circle cx="332" cy="196" r="2"/><circle cx="150" cy="196" r="2"/></g>`)
}

// lantern has gone out: something failed on our side.
func lantern() string {
	return scene("lantern",
		ridge("art-far", 120, 70, .8, true),
		`<path class="art-mid" d="M0 280V120c30 40 60 30 84 70s40 60 84 90ZM480 280V96c-34 44-50 40-78 92s-36 60-90 92Z"/>`,
		`<path class="art-near" d="M0 262c120-14 340-14 480 0v18H0Z"/>`,
		`<path class="art-ink" d="M240 70v34M222 118c0-10 8-14 18-14s18 4 18 14M210 118h60M216 118l-8 90h64l-8-90M202 208h76v12h-76z"/>`,
		`<circle class="art-sky" cx="240" cy="170" r="25"/>`,
		`<path class="art-ink" d="M240 188v-14M236 174c0-5 8-5 8 0"/>`,
		`<path class="art-wisp" d="M240 164c-8-8 8-12 0-20s6-12 0-18"/>`)
}

// bridge has a gap: no network.
func bridge() string {
	return scene("bridge",
		stars(12, 41),
		`<circle class="art-sky" cx="120" cy="70" r="24"/>`,
		ridge("art-far", 150, 60, .62, true),
		`<path class="art-near" d="M0 150c40-8 96-6 132 4l18 18-16 34 14 30-20 44H0ZM480 150c-40-8-96-6-132 4l-18 18 16 34-14 30 20 44h128Z"/>`,
		`<path class="art-mid" d="M112 146c30-14 52-20 86-22l-6 14c-24 2-40 8-58 20ZM368 146c-24-11-40-16-62-19l3 14c16 2 24 7 37 16Z"/>`,
		`<path class="art-ink" d="M124 138v-18M150 129v-18M178 123v-16M124 122c16-8 38-12 54-14M356 138v-16M330 130v-16M330 116l26 8"/>`,
		`<path class="art-wisp" d="M214 124l6 3M230 132l5 6M290 126l-6 4M272 134l-4 6"/>`,
		`<path class="art-glow" d="M236 176l4 5-4 5-4-5z"/>`)
}

// beacon stands ready on its hill: a list with nothing in it yet.
func beacon() string {
	return scene("beacon",
		stars(12, 97),
		ridge("art-far", 176, 52, 2.07, true),
		ridge("art-mid", 214, 22, 1.2, false),
		`<path class="art-near" d="M0 280c60-8 120-22 168-64 24-22 48-40 72-40s48 18 72 40c48 42 108 56 168 64Z"/>`,
		`<path class="art-ink" d="M218 178l22-44 22 44M225 164h30M230 154h20M212 182h56"/>`,
		`<path class="art-glow" d="M240 96c10 12 14 18 14 26a14 14 0 0 1-28 0c0-8 4-14 14-26Z"/>`,
		`<path class="art-sky" d="M240 112c4 5 6 8 6 12a6 6 0 0 1-12 0c0-4 2-7 6-12Z"/>`)
}
