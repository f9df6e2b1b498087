package web

import (
	"net/url"
	"strings"
	"testing"

	"lembas/projections"
)

type auditPage struct {
	Items []projections.AuditRow
	Next  string
}

func (s *server) audit(who *actor, query string) (p auditPage) {
	s.t.Helper()
	a := s.do(who, "GET", "/api/v1/audit?"+query, nil)
	if a.status != 200 {
		s.t.Fatalf("%s: %d %s", query, a.status, a.body)
	}
	a.json(s.t, &p)
	return p
}

// answered is withCard after ann has answered; root is the administrator.
func answered(t *testing.T) (s *server, root, ann, bob *actor, chat created) {
	t.Helper()
	s, ann, bob, chat = withCard(t)
	body := `{"answers":[{"key":"1","verdict":"allow","arguments":{"url":"https://secret-place.test/","n":1}},{"key":"2","verdict":"deny","reason":"private reason"}]}`
	if a := s.do(ann, "POST", answersPath(chat, "k1"), body); a.status != 200 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	var login struct{ ID string }
	a := s.do(nil, "POST", "/auth/login", map[string]string{"email": "root@example.test", "password": password})
	a.json(t, &login)
	return s, &actor{id: login.ID, cookie: cookieOf(t, a)}, ann, bob, chat
}

func TestAuditIsMetadata(t *testing.T) {
	s, root, ann, _, chat := answered(t)
	rows := s.audit(root, "type=consent.*&chat="+chat.Chat).Items
	if len(rows) != 2 || rows[0].Type != "consent.answered" || rows[1].Type != "consent.requested" {
		t.Fatalf("%+v", rows)
	}
	r := rows[0]
	if r.Actor != (projections.AuditActor{Kind: "person", ID: ann.id}) || r.User != ann.id || r.Verdict != "mixed" || !r.Edited || r.Session == "" || r.Address == "" ||
		len(r.Items) != 2 || r.Items[0].Verdict != "allow" || !r.Items[0].Edited || r.Items[1].Verdict != "deny" || r.Items[0].Arguments == rows[1].Items[0].Arguments {
		t.Errorf("%+v", r)
	}
	for _, who := range []*actor{root, ann} {
		a := s.do(who, "GET", "/api/v1/audit", nil)
		for _, content := range []string{"secret-place", "x.test", "private reason", "it writes", `"hello"`, "sk-very"} {
			if strings.Contains(string(a.body), content) {
				t.Errorf("the trail has %q: %s", content, a.body)
			}
		}
	}
}

// Everybody sees their own; an administrator, and only with all rights, all.
func TestAuditIsOnesOwn(t *testing.T) {
	s, root, ann, bob, chat := answered(t)
	types := func(p auditPage) (own, others int) {
		for _, r := range p.Items {
			if r.User == ann.id {
				own++
			} else {
				others++
			}
		}
		return own, others
	}
	if own, others := types(s.audit(ann, "")); own < 4 || others != 0 {
		t.Errorf("ann sees %d of her own, %d others", own, others)
	}
	if own, others := types(s.audit(root, "")); own < 4 || others < 4 {
		t.Errorf("root sees %d of ann, %d others", own, others)
	}
	for _, who := range []*actor{bob, s.token(root, "read"), s.token(root, "write")} {
		for _, query := range []string{"", "chat=" + chat.Chat, "user=" + ann.id, "user=ann@example.test", "consent=k1"} {
			if own, _ := types(s.audit(who, query)); own != 0 {
				t.Errorf("%q shows %d rows of ann to %s", query, own, who.id)
			}
		}
	}
	if own, _ := types(s.audit(s.token(root, "admin"), "user=ann@example.test")); own < 4 {
		t.Errorf("a token with the scope admin sees %d", own)
	}
	if own, _ := types(s.audit(s.token(ann, "read"), "user=ann@example.test")); own < 4 {
		t.Errorf("ann's token sees %d of hers", own)
	}
	if a := s.do(root, "PATCH", "/api/v1/users/"+bob.id, `{"name":"Robert"}`); a.status != 200 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if seen := s.audit(bob, "type=user.changed").Items; len(seen) != 1 || len(s.audit(bob, "user=root@example.test").Items) != 0 {
		t.Errorf("bob sees %+v, and whose address acted on him", seen)
	}
	if a, b := s.do(bob, "GET", "/api/v1/audit?user=ann@example.test", nil), s.do(bob, "GET", "/api/v1/audit?user=none@example.test", nil); a.status != b.status || string(a.body) != string(b.body) {
		t.Errorf("who has an account is told: %s, %s", a.body, b.body)
	}
}

func TestAuditFiltersOfTheAPI(t *testing.T) {
	s, root, ann, _, _ := answered(t)
	for query, want := range map[string]int{
		"verdict=allow": 1, "verdict=deny": 1, "verdict=always": 0, "consent=k1": 2, "tool=fetch": 2, "tool=none": 0, "profile=none": 0,
		"type=connection.created": 1, "type=setting.*": 0, "type=consent.answered&user=" + ann.id: 1, "type=consent.answered&user=" + root.id: 0,
		"from=2026-11-30&to=2026-11-30&type=consent.*": 2, "from=2026-12-01": 0, "to=2026-11-29": 0,
		"from=2026-11-30T11:59:59Z&type=consent.*": 2, "to=2026-11-30T12:00:00Z": 0, "from=2026-11-30T13:00:00%2B01:00&type=consent.*": 2,
		"from=2026-11-30T12:00&to=2026-11-30T12:01&type=consent.*": 2, "type=&verdict=&from=&to=&user=&chat=&tool=&consent=k1": 2,
	} {
		if got := s.audit(root, query); len(got.Items) != want {
			t.Errorf("%s: %d rows, want %d", query, len(got.Items), want)
		}
	}
	var paged []projections.AuditRow
	for next := ""; ; {
		p := s.audit(root, "limit=3&cursor="+url.QueryEscape(next))
		paged = append(paged, p.Items...)
		if next = p.Next; next == "" {
			break
		}
	}
	all := s.audit(root, "limit=1000").Items
	if len(paged) != len(all) || len(all) < 10 {
		t.Errorf("%d rows page by page, %d at once", len(paged), len(all))
	}
	for i := range paged {
		if paged[i].Position != all[i].Position || i > 0 && all[i].Position >= all[i-1].Position {
			t.Errorf("row %d is at %d and %d", i, paged[i].Position, all[i].Position)
		}
	}
}

func TestAuditRefusesFilters(t *testing.T) {
	s, root, _, _, _ := answered(t)
	for query, field := range map[string]string{
		"verdict=maybe": "verdict", "type=[": "type", "from=yesterday": "from", "to=2026-13-01": "to", "from=2026-11-30T12:00:00Z&to=2026-11-30T12:00:00Z": "to",
		"limit=0": "limit", "limit=x": "limit", "limit=1001": "limit", "cursor=x": "cursor", "usr=ann": "usr", "user=a&user=b": "user",
		"user=nobody@example.test": "user", "chat=" + strings.Repeat("x", 600): "chat",
	} {
		a := s.do(root, "GET", "/api/v1/audit?"+query, nil)
		if a.status != 422 || a.fields(t)[0] != field {
			t.Errorf("%.60s: %d %s", query, a.status, a.body)
		}
	}
	if a := s.do(root, "GET", "/api/v1/audit?chat=a%00b", nil); a.status != 200 {
		t.Errorf("a strange id: %d %s", a.status, a.body)
	}
}
