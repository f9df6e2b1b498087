package main

import (
	"bytes"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDrawingsAreCommitted: what is served is what this program draws.
func TestDrawingsAreCommitted(t *testing.T) {
	for name, want := range drawings() {
		got, err := os.ReadFile(filepath.Join("..", name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what gen draws: run go run ./web/static/art/gen (%v)", name, err)
		}
	}
}

// TestOneGeometry: mark, favicon and lockup have the same outlines.
func TestOneGeometry(t *testing.T) {
	for _, outline := range []string{wafer().path(), leaf(0).path(), leaf(3.2).path()} {
		for name, svg := range map[string]string{"mark": markSVG(), "favicon": faviconSVG(), "favicon-waiting": waitingSVG(), "lockup": lockupSVG()} {
			if !strings.Contains(svg, outline) {
				t.Errorf("%s lacks the outline %.20s…", name, outline)
			}
		}
	}
}

// TestInlinedDrawings have no id, no style and no colour of their own: several
// stand on one page, and the policy allows no inline style.
func TestInlinedDrawings(t *testing.T) {
	for name, body := range drawings() {
		if !strings.HasSuffix(name, ".svg") || strings.HasPrefix(name, "favicon") {
			continue
		}
		if hit := regexp.MustCompile(`\s(id|style|fill|stroke|on\w+)=|<script|<style|#[0-9a-f]{3,6}`).Find(body); hit != nil {
			t.Errorf("%s has %q", name, hit)
		}
		for _, class := range regexp.MustCompile(`class="([^"]*)"`).FindAllSubmatch(body, -1) {
			for _, one := range strings.Fields(string(class[1])) {
				if one != "art" && !strings.HasPrefix(one, "art-") {
					t.Errorf("%s has the class %s", name, one)
				}
			}
		}
	}
}

// TestMarkReadsSmall: at 16 pixels stone, leaf and wafer each keep an area that
// an eye finds.
func TestMarkReadsSmall(t *testing.T) {
	img, err := png.Decode(bytes.NewReader(iconSpec{size: 16, scale: 1, round: .22}.png()))
	if err != nil {
		t.Fatal(err)
	}
	near := map[string]int{}
	for y := range 16 {
		for x := range 16 {
			near[nearest(img, x, y)]++
		}
	}
	for colour, least := range map[string]int{slate: 80, green: 20, gold: 10} {
		if near[colour] < least {
			t.Errorf("%s has %d of 256 pixels, want %d: %v", colour, near[colour], least, near)
		}
	}
}

func nearest(img image.Image, x, y int) string {
	r, g, b, _ := img.At(x, y).RGBA()
	best, found := 1<<30, ""
	for _, name := range []string{slate, gold, green} {
		c := hex(name)
		dr, dg, db := int(r>>8)-int(c.R), int(g>>8)-int(c.G), int(b>>8)-int(c.B)
		if d := dr*dr + dg*dg + db*db; d < best {
			best, found = d, name
		}
	}
	return found
}
