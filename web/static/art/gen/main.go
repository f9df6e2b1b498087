// Command gen draws the mark, the icons and the artwork from one geometry and
// writes them beside itself: go run ./web/static/art/gen. The output is
// committed; a test says when it is not what this program draws.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	dir := "web/static/art"
	if len(os.Args) > 1 {
		dir = os.Args[1]
	}
	if err := write(dir); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// write draws everything into the directory dir.
func write(dir string) error {
	for name, body := range drawings() {
		if err := os.WriteFile(filepath.Join(dir, name), body, 0o644); err != nil {
			return fmt.Errorf("writing a drawing: %w", err)
		}
	}
	return nil
}

// drawings is every file by its name.
func drawings() map[string][]byte {
	files := map[string][]byte{
		"mark.svg":            []byte(markSVG()),
		"favicon.svg":         []byte(faviconSVG()),
		"favicon-waiting.svg": []byte(waitingSVG()),
		"lockup.svg":          []byte(lockupSVG()),
		"road.svg":            []byte(road()),
		"door.svg":            []byte(door()),
		"lantern.svg":         []byte(lantern()),
		"bridge.svg":          []byte(bridge()),
		"beacon.svg":          []byte(beacon()),
	}
	for name, icon := range map[string]iconSpec{
		"icon-32.png":           {size: 32, scale: 1, round: 0.22},
		"icon-192.png":          {size: 192, scale: 0.86, round: 0.22},
		"icon-512.png":          {size: 512, scale: 0.86, round: 0.22},
		"icon-maskable-512.png": {size: 512, scale: 0.68},
		"apple-touch-icon.png":  {size: 180, scale: 0.80},
	} {
		files[name] = icon.png()
	}
	return files
}
