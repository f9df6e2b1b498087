package static

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"mime"
	"path"
	"sort"
	"strings"
)

//go:embed css/*.css js/*.js vendor/*.js art/*.svg art/*.png
var embedded embed.FS

// Files is every embedded file by its name, such as "css/tokens.css". It is
// immutable and safe for concurrent use.
type Files struct {
	hash  string
	files map[string]*file
}

// New reads the embedded files and computes their common hash.
func New() (*Files, error) { return load(embedded) }

func load(from fs.FS) (*Files, error) {
	f := &Files{files: map[string]*file{}}
	err := fs.WalkDir(from, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		body, err := fs.ReadFile(from, name)
		f.files[name] = &file{body: body, kind: contentType(name)}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("static: reading the embedded files: %w", err)
	}
	f.hash = f.sum()
	return f, nil
}

// sum is a digest over all names and bodies, in the order of names.
func (f *Files) sum() string {
	digest := sha256.New()
	for _, name := range f.Names() {
		body := sha256.Sum256(f.files[name].body)
		fmt.Fprintf(digest, "%s %x\n", name, body)
	}
	return hex.EncodeToString(digest.Sum(nil))[:16]
}

// Names lists all files, sorted.
func (f *Files) Names() []string {
	names := make([]string, 0, len(f.files))
	for name := range f.files {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// Read gives the bytes of a file, which must not be changed.
func (f *Files) Read(name string) ([]byte, error) {
	file, ok := f.files[name]
	if !ok {
		return nil, fmt.Errorf("static: no file %q", name)
	}
	return file.body, nil
}

// URL is the address of a file. It fails for a name that does not exist, so
// that a template with a wrong one cannot be rendered.
func (f *Files) URL(name string) (string, error) {
	if _, ok := f.files[name]; !ok {
		return "", fmt.Errorf("static: no file %q", name)
	}
	return "/static/" + f.hash + "/" + name, nil
}

// contentType goes by our own table first: the machine's may lack a type.
func contentType(name string) string {
	known := map[string]string{
		".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
		".png": "image/png", ".json": "application/json", ".txt": "text/plain; charset=utf-8",
	}
	ext := path.Ext(name)
	if kind, ok := known[strings.ToLower(ext)]; ok {
		return kind
	}
	return mime.TypeByExtension(ext)
}
