package guard

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"strings"
)

type class struct {
	name string
	// never is set for what no setting opens.
	never bool
	of    []netip.Prefix
}

func prefixes(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(list))
	for i, p := range list {
		out[i] = netip.MustParsePrefix(p)
	}
	return out
}

// classes are the addresses that are not public, after the IANA registries of
// special purposes. The first match counts, so single metadata addresses stand
// before the ranges around them.
var classes = []class{
	{"metadata", true, prefixes("169.254.169.254/32", "100.100.100.200/32", "192.0.0.192/32", "168.63.129.16/32",
		"fd00:ec2::/32", "fd20:ce::/32", "fd00:42::42/128")},
	{"unspecified", true, prefixes("0.0.0.0/8", "::/128")},
	{"link-local", true, prefixes("169.254.0.0/16", "fe80::/10", "fec0::/10")},
	{"multicast", true, prefixes("224.0.0.0/4", "ff00::/8")},
	{"documentation", true, prefixes("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32", "3fff::/20")},
	{"reserved", true, prefixes("192.0.0.0/24", "192.88.99.0/24", "240.0.0.0/4")},
	{"loopback", false, prefixes("127.0.0.0/8", "::1/128")},
	{"private", false, prefixes("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")},
	{"shared (CGNAT)", false, prefixes("100.64.0.0/10")},
	{"benchmarking", false, prefixes("198.18.0.0/15")},
	// Transition forms carry an IPv4 address that a gateway would unpack.
	{"translated", true, prefixes("2002::/16", "2001::/23", "64:ff9b:1::/48")},
}

var (
	global6 = netip.MustParsePrefix("2000::/3") // all that is handed out
	nat64   = netip.MustParsePrefix("64:ff9b::/96")
)

// classify names what an address is; "" is public.
func classify(a netip.Addr) (name string, never bool) {
	if !a.IsValid() || a.Zone() != "" || a.Is4In6() {
		return "ambiguous", true
	}
	for _, c := range classes {
		if slices.ContainsFunc(c.of, func(p netip.Prefix) bool { return p.Contains(a) }) {
			return c.name, c.never
		}
	}
	if a.Is4() {
		return "", false
	}
	b := a.As16()
	inner := netip.AddrFrom4([4]byte(b[12:]))
	switch {
	case nat64.Contains(a): // what DNS64 answers on a network without IPv4
		return classify(inner)
	case !global6.Contains(a):
		return "reserved", true
	case binary.BigEndian.Uint32(b[8:12])&^0x02000000 == 0x5efe: // ISATAP
		return classify(inner)
	}
	return "", false
}

// permit checks an address that host leads to.
func permit(host string, a netip.Addr, private bool) error {
	name, never := classify(a)
	switch {
	case name == "" || (private && !never):
		return nil
	case never:
		return refuse("%s leads to a %s address, which is never asked", clip(host), name)
	}
	return refuse("%s leads to a %s address; only public ones are asked, unless an administrator opens private ones (setting fetch.private)", clip(host), name)
}

// permitName checks names that mean this machine or a metadata service, wherever
// the resolver would lead.
func permitName(host string, private bool) error {
	switch {
	case slices.Contains(metadataNames, host), strings.HasSuffix(host, ".metadata.google.internal"):
		return refuse("%s is a metadata service, which is never asked", clip(host))
	case private:
		return nil
	case slices.Contains(localNames, host), strings.HasSuffix(host, ".localhost"), strings.HasSuffix(host, ".localdomain"):
		return refuse("%s is this machine; only public addresses are asked, unless an administrator opens private ones (setting fetch.private)", clip(host))
	}
	return nil
}

var (
	metadataNames = []string{"metadata", "metadata.google.internal", "metadata.goog", "instance-data", "instance-data.ec2.internal", "metadata.azure.internal"}
	localNames    = []string{"localhost", "localdomain", "ip6-localhost", "ip6-loopback", "loopback", "broadcasthost"}
)

// badPorts never carry HTTP (the list of the Fetch standard, less what is far
// from use): a request there is meant for another protocol.
var badPorts = []uint16{
	1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123,
	135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995,
	1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
}
