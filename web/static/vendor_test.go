package static_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestVendor compares every vendored file with the lock: a file that is not in
// it, is missing, or has other bytes, fails.
func TestVendor(t *testing.T) {
	var lock []struct {
		File, Package, Version, Licence, SHA256 string
		LicenceFile                             string `json:"licence_file"`
		Bytes                                   int
	}
	raw, err := os.ReadFile("vendor/vendor.lock.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &lock); err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{"vendor.lock.json": true}
	for _, part := range lock {
		known[part.File], known[part.LicenceFile] = true, true
		body, err := os.ReadFile(filepath.Join("vendor", part.File))
		if err != nil {
			t.Errorf("%s %s: %v", part.Package, part.Version, err)
			continue
		}
		sum := sha256.Sum256(body)
		if got := hex.EncodeToString(sum[:]); got != part.SHA256 || len(body) != part.Bytes {
			t.Errorf("%s: %d bytes with SHA-256 %s, the lock says %d and %s", part.File, len(body), got, part.Bytes, part.SHA256)
		}
		if licence, err := os.ReadFile(filepath.Join("vendor", part.LicenceFile)); err != nil || !strings.Contains(string(licence), part.Licence) {
			t.Errorf("%s: its licence %q is not beside it (%v)", part.File, part.Licence, err)
		}
	}
	entries, err := os.ReadDir("vendor")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if !known[entry.Name()] {
			t.Errorf("vendor/%s is not in the lock", entry.Name())
		}
	}
}
