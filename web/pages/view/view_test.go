package view

import (
	"fmt"
	"html/template"
	"strings"
	"testing"
	"time"

	"lembas/events"
	"lembas/projections/transcript"
)

func TestFiguresInWords(t *testing.T) {
	for ms, want := range map[int64]string{-5: "0 s", 0: "0.0 s", 4000: "4.0 s", 9949: "9.9 s", 9950: "10 s", 61_400: "61 s", 99_999: "100 s", 125_000: "2 min 5 s", 3_600_000: "60 min 0 s"} {
		if got := seconds(ms); got != want {
			t.Errorf("%d ms is %q, want %q", ms, got, want)
		}
	}
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", -1234: "-1,234", 1234567: "1,234,567"} {
		if got := number(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}

// TestEveryErrorHasWords: no kind of the contract ends in the general sentence.
func TestEveryErrorHasWords(t *testing.T) {
	general, _ := errorText(&events.RoundError{Kind: "?"})
	seen := map[string]string{}
	for _, kind := range []string{"stream", "truncated", "transport", "timeout", "not_sse", "empty", "malformed"} {
		title, advice := errorText(&events.RoundError{Kind: kind})
		if title == general || advice == "" || seen[title] != "" {
			t.Errorf("%s: %q %q, as %s", kind, title, advice, seen[title])
		}
		seen[title] = kind
	}
	for _, status := range []int{400, 401, 403, 404, 413, 422, 429, 500, 503} {
		title, advice := errorText(&events.RoundError{Kind: "http", Status: status})
		if !strings.Contains(title, fmt.Sprintf("(%d)", status)) || advice == "" {
			t.Errorf("%d: %q %q", status, title, advice)
		}
	}
}

// TestABrokenAnswerIsNoUnreachableEndpoint: what is said of a broken connection
// depends on whether anything had come over it.
func TestABrokenAnswerIsNoUnreachableEndpoint(t *testing.T) {
	r := &transcript.Reply{Status: transcript.Failed, Error: &events.RoundError{Kind: "transport"}, Rounds: []*transcript.Round{{N: 1}}}
	if e := replyError(r); !strings.Contains(e.Title, "could not be reached") {
		t.Errorf("before the first word: %+v", e)
	}
	if err := r.Rounds[0].Content.UnmarshalJSON([]byte(`"Half an ans"`)); err != nil {
		t.Fatal(err)
	}
	if e := replyError(r); !strings.Contains(e.Title, "broke in mid-answer") || !strings.Contains(e.Detail, "kept") {
		t.Errorf("in mid-answer: %+v", e)
	}
}

func TestTree(t *testing.T) {
	now := time.Date(2026, 3, 10, 1, 0, 0, 0, time.UTC)
	folders := map[string]events.FolderState{"a": {Name: "Zeta"}, "b": {Name: "Alpha"}, "c": {Name: "Inner", Parent: "a"},
		"x": {Name: "Loop", Parent: "y"}, "y": {Name: "Loop", Parent: "x"}}
	rows := []Row{
		{ID: "1", Updated: now}, {ID: "2", Updated: now, Pinned: true, Folder: "a"}, {ID: "3", Updated: now.Add(-2 * time.Hour)},
		{ID: "4", Updated: now, Folder: "c"}, {ID: "5", Updated: now.AddDate(0, 0, -6)}, {ID: "6", Updated: now.AddDate(0, 0, -20), Folder: "gone"},
		{ID: "7", Updated: now.AddDate(-1, 0, 0)},
	}
	tree := Tree(folders, rows, now)
	var got []string
	for _, g := range tree.Groups {
		for _, c := range g.Chats {
			got = append(got, g.Label+" "+c.ID)
		}
	}
	if want := "Today 1|Yesterday 3|The last seven days 5|February 6|March 2025 7"; strings.Join(got, "|") != want {
		t.Errorf("groups %q, want %q", strings.Join(got, "|"), want)
	}
	if len(tree.Pinned) != 1 || tree.Pinned[0].ID != "2" {
		t.Errorf("pinned %+v", tree.Pinned)
	}
	if len(tree.Folders) != 2 || tree.Folders[0].Name != "Alpha" || len(tree.Folders[1].Folders) != 1 || tree.Folders[1].Folders[0].Chats[0].ID != "4" {
		t.Errorf("folders %+v", tree.Folders)
	}
}

// TestTextsAreBounded: the newest stay, within the bound; other text under the
// same name is rendered anew.
func TestTextsAreBounded(t *testing.T) {
	cache, made := newTexts(1000), 0
	get := func(prefix, src string) template.HTML {
		return cache.get(prefix, src, func() template.HTML {
			made++
			return template.HTML(strings.Repeat(src, 10))
		})
	}
	for i := range 50 {
		get(fmt.Sprint("r", i), "0123456789")
	}
	if cache.size > 1000 || len(cache.byKey) != 10 || cache.order.Len() != 10 {
		t.Errorf("%d bytes in %d entries", cache.size, len(cache.byKey))
	}
	made = 0
	get("r49", "0123456789")
	get("r0", "0123456789")
	if made != 1 {
		t.Errorf("rendered %d, want 1", made)
	}
	if got := get("r49", "other words"); !strings.HasPrefix(string(got), "other") {
		t.Errorf("got %q", got)
	}
}
