package stream

import (
	"errors"
	"strings"
	"testing"
)

func TestContained(t *testing.T) {
	failed := errors.New("failed")
	for name, c := range map[string]struct {
		fn   func() error
		want string
	}{
		"none":  {func() error { return nil }, ""},
		"error": {func() error { return failed }, "failed"},
		"panic": {func() error { return []error{nil}[len("x")] }, "panic: runtime error: index out of range"},
	} {
		err := contained(c.fn)
		if (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s gives %v", name, err)
		}
	}
}
