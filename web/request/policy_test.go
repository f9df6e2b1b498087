package request

import (
	"net/http/httptest"
	"net/url"
	"testing"
)

func policy(t *testing.T, base, proxies string) *Policy {
	t.Helper()
	var p Policy
	var err error
	if base != "" {
		if p.BaseURL, err = url.Parse(base); err != nil {
			t.Fatal(err)
		}
	}
	if p.Proxies, err = ParseProxies(proxies); err != nil {
		t.Fatal(err)
	}
	return &p
}

func TestAddress(t *testing.T) {
	for _, c := range []struct{ name, proxies, peer, forwarded, want string }{
		{"direct", "", "198.51.100.7:4000", "", "198.51.100.7"},
		{"nobody is trusted", "", "198.51.100.7:4000", "203.0.113.9", "198.51.100.7"},
		{"peer is no proxy", "10.0.0.0/8", "198.51.100.7:4000", "203.0.113.9", "198.51.100.7"},
		{"proxy", "10.0.0.0/8", "10.1.2.3:4000", "203.0.113.9", "203.0.113.9"},
		{"client wrote one too", "10.0.0.0/8", "10.1.2.3:4000", "192.0.2.1, 203.0.113.9", "203.0.113.9"},
		{"two proxies", "10.0.0.0/8 192.0.2.1", "10.1.2.3:4000", "203.0.113.9, 192.0.2.1", "203.0.113.9"},
		{"garbage", "10.0.0.1", "10.0.0.1:4000", "203.0.113.9, unknown", "10.0.0.1"},
		{"mapped", "10.0.0.1", "[::ffff:10.0.0.1]:4000", "::ffff:203.0.113.9", "203.0.113.9"},
		{"socket", "10.0.0.1", "@", "203.0.113.9", "invalid IP"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := httptest.NewRequest("GET", "/", nil)
			r.RemoteAddr = c.peer
			if c.forwarded != "" {
				r.Header.Set("X-Forwarded-For", c.forwarded)
			}
			if got := policy(t, "", c.proxies).Address(r).String(); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestParseProxiesNamesWhatIsWrong(t *testing.T) {
	if _, err := ParseProxies("10.0.0.1, proxy.test"); err == nil {
		t.Error("a name was accepted")
	}
}

func TestSecure(t *testing.T) {
	for _, c := range []struct {
		name, base, proxies, proto string
		want                       bool
	}{
		{"plain", "", "", "", false},
		{"anybody says https", "", "", "https", false},
		{"proxy says https", "", "192.0.2.1", "https", true},
		{"proxy says http", "", "192.0.2.1", "http", false},
		{"base URL", "https://chat.example.test", "", "", true},
		{"base URL is plain", "http://nas.test:8080", "192.0.2.1", "https", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := httptest.NewRequest("GET", "/", nil) // from 192.0.2.1
			r.Header.Set("X-Forwarded-Proto", c.proto)
			if got := policy(t, c.base, c.proxies).Secure(r); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestKnownHost(t *testing.T) {
	for host, want := range map[string]bool{
		"chat.example.test": true, "CHAT.example.test": true, "chat.example.test:443": true, "127.0.0.1:8080": true,
		"[::1]:8080": true, "localhost:8080": true, "evil.test": false, "chat.example.test:8443": false,
		"chat.example.test.evil.test": false, "localhost.evil.test": false, "": false,
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Host = host
		if got := policy(t, "https://chat.example.test", "").KnownHost(r); got != want {
			t.Errorf("%q is %v", host, got)
		}
		if !policy(t, "", "").KnownHost(r) {
			t.Errorf("%q is refused without a base URL", host)
		}
	}
}

func TestSameOrigin(t *testing.T) {
	const own = "https://chat.example.test"
	for _, c := range []struct {
		name, base, site string
		origin           []string
		want             bool
	}{
		{"neither", own, "", nil, false},
		{"origin", own, "", []string{own}, true},
		{"site", own, "same-origin", nil, true},
		{"both", own, "same-origin", []string{own}, true},
		{"form of a page without referrer", own, "same-origin", []string{"null"}, true},
		{"opaque", own, "", []string{"null"}, false},
		{"cross-site", own, "cross-site", []string{own}, false},
		{"same-site", own, "same-site", []string{own}, false},
		{"typed", own, "none", nil, false},
		{"foreign beside same-origin", own, "same-origin", []string{"https://evil.test"}, false},
		{"foreign", own, "", []string{"https://evil.test"}, false},
		{"plain", own, "", []string{"http://chat.example.test"}, false},
		{"prefix", own, "", []string{"https://chat.example.test.evil.test"}, false},
		{"suffix", own, "", []string{"https://evilchat.example.test"}, false},
		{"two in one", own, "", []string{own + ", https://evil.test"}, false},
		{"two headers", own, "", []string{own, "https://evil.test"}, false},
		{"user part", own, "", []string{"https://a@chat.example.test"}, false},
		{"with a path", own, "", []string{own + "/"}, false},
		{"no base URL", "", "", []string{"http://chat.example.test"}, true},
		{"no base URL, unknown proxy", "", "", []string{"https://chat.example.test"}, true},
		{"no base URL, foreign", "", "", []string{"http://evil.test"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := httptest.NewRequest("POST", "/", nil)
			r.Host = "chat.example.test"
			for _, o := range c.origin {
				r.Header.Add("Origin", o)
			}
			if c.site != "" {
				r.Header.Set("Sec-Fetch-Site", c.site)
			}
			if got := policy(t, c.base, "").SameOrigin(r); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
