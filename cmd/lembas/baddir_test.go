package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func asExit(err error, exit **exec.ExitError) bool { return errors.As(err, exit) }

// treeOf is what lies in a directory: names, modes and contents. The lock is
// left out: taking it is not touching.
func treeOf(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil || name == "lock" {
			return err
		}
		out[name] = info.Mode().String()
		if info.Mode().IsRegular() {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			sum := sha256.Sum256(b)
			out[name] += " " + hex.EncodeToString(sum[:])
		}
		return nil
	}))
	return out
}

func sameTree(t testing.TB, dir string, before map[string]string) {
	t.Helper()
	after := treeOf(t, dir)
	for name, was := range before {
		if after[name] != was {
			t.Errorf("%s: was %s, is %s", name, was, after[name])
		}
	}
	for name := range after {
		if _, ok := before[name]; !ok {
			t.Errorf("%s: is new", name)
		}
	}
}

// small makes a data directory with an account and a stopped server behind it.
func small(t testing.TB) string {
	t.Helper()
	dir := dataDir(t)
	mustCLI(t, "correct horse battery\n", "create-admin", "--data", dir, "--email", "ann@example.test", "--password-stdin")
	return dir
}

// TestDirectoriesThatAreRefused: whatever is wrong with a data directory is one
// clear line and status 1, for serve and for a command, and nothing is touched.
func TestDirectoriesThatAreRefused(t *testing.T) {
	good := small(t)
	for _, tc := range []struct {
		name, says string
		spoil      func(t *testing.T, dir string)
	}{
		{"a newer layout", "newer", func(t *testing.T, dir string) {
			must(t, os.WriteFile(filepath.Join(dir, "format"), []byte("lembas data directory, layout 2\n"), 0o600))
		}},
		{"a format that is not ours", "format", func(t *testing.T, dir string) {
			must(t, os.WriteFile(filepath.Join(dir, "format"), []byte("something else\n"), 0o600))
		}},
		{"no format", `"format" is missing`, func(t *testing.T, dir string) { must(t, os.Remove(filepath.Join(dir, "format"))) }},
		{"no recorded head", "head", func(t *testing.T, dir string) { must(t, os.Remove(filepath.Join(dir, "head"))) }},
		{"no log", "log", func(t *testing.T, dir string) { must(t, os.RemoveAll(filepath.Join(dir, "log"))) }},
		{"no manifest", "log", func(t *testing.T, dir string) { removeAll(t, dir, "log/MANIFEST-*") }},
		{"a flipped manifest", "log", func(t *testing.T, dir string) { flipMiddle(t, dir, "log/MANIFEST-*") }},
		{"no log files", "position", func(t *testing.T, dir string) { removeAll(t, dir, "log/*.log") }},
		{"an empty log file", "position", func(t *testing.T, dir string) {
			for _, name := range glob(t, dir, "log/*.log") {
				must(t, os.Truncate(name, 0))
			}
		}},
		{"no key file", "key", func(t *testing.T, dir string) { must(t, os.Remove(filepath.Join(dir, "key"))) }},
		{"another key file", "key", func(t *testing.T, dir string) {
			must(t, os.WriteFile(filepath.Join(dir, "key"), []byte(mustCLI(t, "", "secret-key")), 0o600))
		}},
		{"a key file of nonsense", "key", func(t *testing.T, dir string) {
			must(t, os.WriteFile(filepath.Join(dir, "key"), []byte("nonsense\n"), 0o600))
		}},
		{"a foreign directory", "not a lembas data directory", func(t *testing.T, dir string) {
			must(t, os.RemoveAll(dir))
			must(t, os.Mkdir(dir, 0o700))
			must(t, os.WriteFile(filepath.Join(dir, "thesis.txt"), []byte("the only copy\n"), 0o600))
		}},
		{"an interrupted restore", "restore", func(t *testing.T, dir string) {
			must(t, os.WriteFile(filepath.Join(dir, "restoring"), []byte("lembas data directory, layout 1\n"), 0o600))
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := dataDir(t)
			must(t, os.CopyFS(dir, os.DirFS(good)))
			tc.spoil(t, dir)
			before := treeOf(t, dir)
			for _, args := range [][]string{
				{"serve", "--listen", "127.0.0.1:0"},
				{"create-admin", "--email", "eve@example.test", "--password-stdin"},
			} {
				out, errs, code := cli(t, "correct horse battery\n", append(args, "--data", dir)...)
				if code != 1 || out != "" || strings.Count(errs, "\n") != 1 || !strings.HasPrefix(errs, "lembas: ") || !strings.Contains(errs, tc.says) {
					t.Errorf("%s: status %d, %q, %q", args[0], code, out, errs)
				}
				sameTree(t, dir, before)
			}
		})
	}
}

// TestADirectoryThatIsAFile is refused and stays.
func TestADirectoryThatIsAFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "data")
	must(t, os.WriteFile(name, []byte("the only copy\n"), 0o600))
	for _, dir := range []string{name, filepath.Join(name, "below")} {
		_, errs, code := cli(t, "", "serve", "--listen", "127.0.0.1:0", "--data", dir)
		if code != 1 || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, "not a directory") {
			t.Errorf("%s: status %d: %q", dir, code, errs)
		}
	}
	if b, err := os.ReadFile(name); err != nil || string(b) != "the only copy\n" {
		t.Errorf("%q, %v", b, err)
	}
}

func glob(t testing.TB, dir, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, pattern))
	must(t, err)
	if len(names) == 0 {
		t.Fatalf("nothing matches %s", pattern)
	}
	return names
}

func removeAll(t testing.TB, dir, pattern string) {
	t.Helper()
	for _, name := range glob(t, dir, pattern) {
		must(t, os.Remove(name))
	}
}

func flipMiddle(t testing.TB, dir, pattern string) {
	t.Helper()
	for _, name := range glob(t, dir, pattern) {
		b, err := os.ReadFile(name)
		must(t, err)
		b[len(b)/2] ^= 4
		must(t, os.WriteFile(name, b, 0o600))
	}
}
