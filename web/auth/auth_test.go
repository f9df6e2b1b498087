package auth

import (
	"fmt"
	"testing"
	"time"
)

func TestLocalPath(t *testing.T) {
	for next, want := range map[string]string{
		"": "/", "/": "/", "/chat/1?x=2#y": "/chat/1?x=2#y", "/settings": "/settings", "/%2F/x": "/%2F/x",
		"//evil.test": "/", "///evil.test": "/", `/\evil.test`: "/", `\\evil.test`: "/", "/\t/evil.test": "/", "/\n/evil.test": "/",
		"https:evil.test": "/", "https://evil.test": "/", "javascript:alert(1)": "/", " //evil.test": "/", "evil": "/",
		"/x\\..\\y": "/", "/a b": "/", "/%zz": "/", "/auth/login": "/", "/auth/logout": "/", "/\x7f": "/",
	} {
		if got := LocalPath(next); got != want {
			t.Errorf("%q goes to %q, want %q", next, got, want)
		}
	}
}

func TestBrake(t *testing.T) {
	now := time.Unix(0, 0)
	b := newBrake(2, 10*time.Second, 3, func() time.Time { return now })
	taken := func(key string) bool { _, ok := b.take(key); return ok }
	// all takes n times and says how many were given.
	all := func(key string, n int) (given int) {
		for range n {
			if taken(key) {
				given++
			}
		}
		return given
	}
	if all("a", 3) != 2 {
		t.Error("two at once")
	}
	if wait, _ := b.take("a"); wait != 10*time.Second {
		t.Errorf("wait %v", wait)
	}
	if !taken("b") {
		t.Error("keys do not share")
	}
	now = now.Add(5 * time.Second)
	if wait, ok := b.take("a"); ok || wait != 5*time.Second {
		t.Errorf("half way: %v %v", wait, ok)
	}
	now = now.Add(5 * time.Second)
	if !taken("a") || taken("a") {
		t.Error("one more after a while")
	}
	b.give("a")
	if !taken("a") || taken("a") {
		t.Error("a right one is given back")
	}
	now = now.Add(time.Hour)
	b.give("a")
	if all("a", 3) != 2 {
		t.Error("never more than the burst")
	}
	for i := range 100 {
		b.take(fmt.Sprint(i))
	}
	if len(b.buckets) != 3 || b.order.Len() != 3 {
		t.Errorf("%d keys are kept", len(b.buckets))
	}
}

func TestPlace(t *testing.T) {
	for address, want := range map[string]string{"203.0.113.9": "203.0.113.9", "": "",
		"2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64", "2001:db8:1:2::9": "2001:db8:1:2::/64", "fe80::1%eth0": "fe80::/64"} {
		if got := place(address); got != want {
			t.Errorf("%q is %q", address, got)
		}
	}
}
