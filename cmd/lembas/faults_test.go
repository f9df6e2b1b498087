package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"lembas/events"
)

// faultTests says which tests show a row of testdata/cases/faults.json, by
// package and name; what begins with "not: " is why there is none yet.
var faultTests = map[string][]string{
	"F01": {"cmd/lembas TestAMessageThatAKillCutsOff", "commands TestTheSameKeyTwiceGivesTheFirstAnswer"},
	"F02": {"cmd/lembas TestAMessageThatWasAcceptedIsAnsweredOnceAfterAKill", "commands/generation TestAFinishedRoundIsNeverPaidForTwice"},
	"F03": {"cmd/lembas TestTortureKillsTheServerInMidReply", "commands/generation TestARoundInFlightIsSupersededAfterARestart"},
	"F04": {"cmd/lembas TestAKillWhileACardWaits", "cmd/lembas TestKillsAroundAConsent", "commands/generation TestEveryCrashOfALifeWithACard"},
	"F05": {"cmd/lembas TestAnAnswerThatAKillCutOff", "cmd/lembas TestKillsAroundAConsent", "commands/generation TestEveryCrashOfALifeWithACard"},
	"F06": {"cmd/lembas TestAnApprovalThatDidNotBeginBeforeAKill", "cmd/lembas TestAnApprovalAfterTheRestart", "commands/generation TestAnApprovalThatWasNotUsedInTime"},
	"F07": {"cmd/lembas TestAKillWhileACallRuns", "cmd/lembas TestKillsAroundAConsent"},
	"F08": {"cmd/lembas TestAKillBeforeTheModelIsTold", "commands/generation TestEveryCrashOfALifeWithACard"},
	"F09": {"not: background jobs come with agents"}, "F10": {"not: background jobs come with agents"},
	"F11": {"not: uploads come later; an export appears whole (cmd/lembas TestScripts), a deletion is one append (projections TestErasedChat)"},
	"F12": {"events/store TestCrashAtEveryWrite", "events/store TestSnapshots", "projections TestCrashInMidway", "projections TestRaisedVersionRebuilds"},
	"F13": {"events/store TestCrashAtEveryWrite", "events/store TestCrashHarnessNoticesMissingSync"},
	"F14": {"events/store TestCutsAreNoticed", "events/store TestCutBelowTheRecord"},
	"F15": {"events/store TestBitFlipsAreNoticed"}, "F16": {"events/store TestBitFlipsAreNoticed", "cmd/lembas TestDirectoriesThatAreRefused"},
	"F17": {"events/store TestBitFlipsAreNoticed", "cmd/lembas TestScripts"},
	"F18": {"events/store TestFailedWrites", "events/store TestLowWater", "cmd/lembas TestAWriteThatFailsEndsTheServer", "cmd/lembas TestBelowTheLowWaterMark"},
	"F19": {"events/store TestFailedWrites"},
	"F20": {"not: no test slows a real disk down; callers wait in order behind one sync, and a stream is bounded by its gatherer"},
	"F21": {"cmd/lembas TestDirectoriesThatAreRefused"}, "F22": {"events/store TestSwappedLogIsNoticed", "cmd/lembas TestScripts",
		"not: an older directory that was swapped in whole, with its recorded head, is not noticed; the head would have to lie elsewhere"},
	"F23": {"cmd/lembas TestScripts"}, "F24": {"events/store TestTimeNeverGoesBack"},
	"F25": {"cmd/lembas TestTimeThatCountsForACard", "not: deadlines of jobs come with them"},
	"F26": {"cmd/lembas TestAFollowerThatStopsReading", "web/stream TestStalledFollower"}, "F27": {"cmd/lembas TestAFollowerThatStopsReading"},
	"F28": {"not: ten thousand at once were not tried; web/stream has a benchmark of the fan-out and cmd/lembas TestAHundredFollowersThatDrop a hundred"},
	"F29": {"cmd/lembas TestCursorsOfNoUse", "web/stream TestLateFollowersGetTheWholeState"},
	"F30": {"cmd/lembas TestEndpointsThatMisbehave", "cmd/lembas TestStopBeforeTheFirstByte", "cmd/lembas TestStopWithinACall", "commands/llm TestTroubleEnds"},
	"F31": {"commands/llm TestCuts", "commands/llm TestCutsHTTP", "cmd/lembas TestEndpointsThatMisbehave", "cmd/lembas TestACallThatIsCutNeverRuns",
		"cmd/lembas TestCallsThatEndInTrouble"},
	"F32": {"cmd/lembas TestEndpointsThatMisbehave", "cmd/lembas TestFailureLeavesTheQueueAlone", "cmd/lembas TestCallsThatEndInTrouble"},
	"F33": {"cmd/lembas TestEndpointsThatMisbehave", "commands/llm TestRetry"},
	"F34": {"commands/llm TestCorpus", "commands/llm TestSiblings", "cmd/lembas TestEndpointsThatMisbehave", "cmd/lembas TestCallsWithOneIndexAndOneName"},
	"F35": {"cmd/lembas TestEndpointsThatMisbehave", "cmd/lembas TestCallsWithoutEnd", "commands/llm TestTroubleEnds"},
	"F36": {"not: SSH comes later"}, "F37": {"not: SSH comes later"}, "F38": {"not: SSH comes later"}, "F39": {"not: SSH comes later"},
	"F40": {"not: SSH comes later"}, "F41": {"not: SSH comes later"},
	"F42": {"cmd/lembas TestTheSameSubmissionTwice", "cmd/lembas TestTheSameAnswerTwice", "web TestIdempotencyKey"},
	"F43": {"cmd/lembas TestTwoTabsAnswerTheSameCard", "cmd/lembas TestStopAgainstAllow", "cmd/lembas TestStopWhileCallsAreQueued"},
	"F44": {"cmd/lembas TestChangesWhileCallsAreQueued", "cmd/lembas TestAScopeThatChangesWithinARound", "not: modes come with agents"},
	"F45": {"cmd/lembas TestDeletingAChatEndsItsReply", "cmd/lembas TestStreamsEndWithTheRight", "cmd/lembas TestWhatEndsAChatWithACardOrACall",
		"commands/generation TestAPersonIsDisabledJustAsTheCardComes",
		"commands/generation TestAReplyEndsWhenItsPersonOrModelIsSwitchedOff", "not: shells come later"},
	"F46": {"events/store TestNewerTypesThatPermit", "events/store TestImportedEventsStayAsTheyWere", "cmd/lembas TestALogFromTheFutureThatCouldPermit"},
	"F47": {"events/store TestGoldenLogs"}, "F48": {"events/store TestVerifyNamesTheFirstBadPosition"},
	"F49": {"events/store TestTailCutByHandIsNoticed"}, "F50": {"commands/generation TestNothingTakesEffectThatIsNotRecorded", "not: keys and shells come later"},
}

// TestEveryFaultHasATest: each row of the corpus is named above, and each test
// that is named exists.
func TestEveryFaultHasATest(t *testing.T) {
	b, err := os.ReadFile("../../testdata/cases/faults.json")
	must(t, err)
	var rows []struct{ ID string }
	must(t, json.Unmarshal(b, &rows))
	if len(rows) < 50 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, row := range rows {
		if len(faultTests[row.ID]) == 0 {
			t.Errorf("%s is not named", row.ID)
		}
		for _, test := range faultTests[row.ID] {
			folder, name, _ := strings.Cut(test, " ")
			if folder == "not:" {
				continue
			}
			files, err := filepath.Glob(filepath.Join("../..", folder, "*_test.go"))
			must(t, err)
			found := false
			for _, f := range files {
				src, err := os.ReadFile(f)
				must(t, err)
				found = found || regexp.MustCompile(`(?m)^func `+name+`\(`).Match(src)
			}
			if !found {
				t.Errorf("%s: there is no %s in %s", row.ID, name, folder)
			}
		}
	}
}

// whole is a line of a stream.
func whole(w io.Writer, format string, a ...any) {
	_, _ = fmt.Fprintf(w, "data: "+format+"\n\n", a...)
	w.(http.Flusher).Flush()
}

// TestEndpointsThatMisbehave: whatever an endpoint does, the reply ends with a
// plain reason, what arrived is kept, nothing is run and nothing is asked more
// often than it may be (F30 to F35).
func TestEndpointsThatMisbehave(t *testing.T) {
	hang := func(r *http.Request) { <-r.Context().Done() }
	delta := func(w io.Writer, text string) { whole(w, `{"choices":[{"delta":{"content":%q}}]}`, text) }
	for _, tc := range []struct {
		name, kind, says, content string
		asked, calls              int
		answer                    func(n int, w http.ResponseWriter, r *http.Request)
	}{
		{"stalls", "timeout", "nothing more came for 1s", "So far", 1, 0, func(_ int, w http.ResponseWriter, r *http.Request) {
			says(w, "So far")
			hang(r)
		}},
		{"trickles", "timeout", "nothing more came for 1s", "So far", 1, 0, func(_ int, w http.ResponseWriter, r *http.Request) {
			says(w, "So far")
			_, _ = io.WriteString(w, "d")
			w.(http.Flusher).Flush()
			hang(r)
		}},
		{"is cut in a line", "truncated", "", "So far", 1, 0, func(_ int, w http.ResponseWriter, _ *http.Request) {
			says(w, "So far")
			_, _ = io.WriteString(w, `data: {"choices":[{"delta":{"con`)
		}},
		{"is cut in a character", "truncated", "", "So far", 1, 0, func(_ int, w http.ResponseWriter, _ *http.Request) {
			says(w, "So far")
			_, _ = io.WriteString(w, `data: {"choices":[{"delta":{"content":"`+"\xe2\x82")
		}},
		{"is cut in a call", "truncated", "", "So far", 1, 1, func(_ int, w http.ResponseWriter, _ *http.Request) {
			says(w, "So far")
			whole(w, `{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"shell_run","arguments":"{\"command\":\"rm "}}]}}]}`)
		}},
		{"is garbage", "malformed", "", "", 1, 0, func(_ int, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: \x00\x01\x02\n\ndata: {]\n\n")
		}},
		{"is a page", "not_sse", "web page", "", 1, 0, func(_ int, w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "<!doctype html><title>Sign in<script>alert(1)</script></title><h1>Sign in</h1>")
		}},
		{"is an error with status 200", "stream", "out of credit", "", 1, 0, func(_ int, w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"error":{"message":"out of credit <script>alert(1)</script>"}}`)
		}},
		{"says nothing", "empty", "", "", 1, 0, func(_ int, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			ends(w)
		}},
		{"is busy for ever", "http", "503", "", 5, 0, func(_ int, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After-Ms", "5")
			w.WriteHeader(503)
		}},
		{"is busy for too long", "http", "429", "", 1, 0, func(_ int, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(429)
		}},
		{"is busy once", "", "", "Here.", 2, 0, func(n int, w http.ResponseWriter, _ *http.Request) {
			if n == 1 {
				w.Header().Set("Retry-After-Ms", "5")
				w.WriteHeader(500)
				return
			}
			says(w, "Here.")
			ends(w)
		}},
		{"breaks after its first byte", "transport", "", "So far", 1, 0, func(_ int, w http.ResponseWriter, _ *http.Request) {
			says(w, "So far")
			panic(http.ErrAbortHandler)
		}},
		{"mixes its calls up", "", "", "So be it.", 2, 2, func(n int, w http.ResponseWriter, _ *http.Request) {
			if n > 1 {
				says(w, "So be it.")
				ends(w)
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			for _, part := range []string{`"index":1,"id":"b","function":{"name":"look","arguments":"{\"n\":"}`, `"index":0,"id":"a","function":{"name":"look","arguments":"{\"n\":1"}`,
				`"index":1,"function":{"arguments":"2}"}`, `"index":0,"function":{"arguments":"}"}`} {
				whole(w, `{"choices":[{"delta":{"tool_calls":[{%s}]}}]}`, part)
			}
			whole(w, `{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}`)
		}},
		{"never stops", "budget", "limits.output_tokens", "on and on", 1, 0, func(_ int, w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for r.Context().Err() == nil {
				delta(w, "on and on ")
			}
		}},
		{"sends one endless line", "too_large", "line", "So far", 1, 0, func(_ int, w http.ResponseWriter, r *http.Request) {
			says(w, "So far")
			_, _ = io.WriteString(w, `data: {"choices":[{"delta":{"content":"`)
			for block := strings.Repeat("x", 1<<20); r.Context().Err() == nil; {
				_, _ = io.WriteString(w, block)
			}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			e := newEndpoint(t, tc.answer)
			s := serve(t, dataDir(t))
			ann := s.person("ann@example.test", true)
			ann.t = t
			ann.connect(e, "")
			ann.want(200, "PATCH", "/api/v1/settings", map[string]any{"limits.stream_idle": 1, "limits.output_tokens": 500})
			chat, reply := ann.ask("m", "hello")
			status := ann.awaitEnd(chat, reply)
			got := ann.transcript(chat).last()
			if tc.kind == "" {
				if status != events.Complete || got.Error != nil || got.Content != tc.content {
					t.Errorf("%s: %+v", status, got)
				}
			} else if status != events.Failed || got.Error == nil || got.Error.Kind != tc.kind || !strings.Contains(got.Error.Message, tc.says) ||
				len(got.Error.Message) < 10 || !strings.HasPrefix(got.Content, tc.content) || (tc.content == "") != (got.Content == "") || len(got.Content) > 4000 {
				t.Errorf("%s: %.200q, %+v", status, got.Content, got.Error)
			}
			if e.count() != tc.asked || len(got.Tools) != tc.calls {
				t.Errorf("asked %d times, want %d; %d calls, want %d", e.count(), tc.asked, len(got.Tools), tc.calls)
			}
			for i, call := range got.Tools {
				if call["status"] != events.ToolRefused {
					t.Errorf("call %d: %v", i, call)
				}
			}
			page := ann.do("GET", "/chat/"+chat, nil, "Accept", "text/html")
			if page.status != 200 || strings.Contains(string(page.body), "<script>alert") {
				t.Errorf("the page: %d, or markup of the endpoint in it", page.status)
			}
		})
	}
}

// TestStopBeforeTheFirstByte: an endpoint that hangs is left at once (F30).
func TestStopBeforeTheFirstByte(t *testing.T) {
	asked, left := make(chan struct{}), make(chan struct{})
	e := newEndpoint(t, func(_ int, _ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
		close(left)
	})
	s := serve(t, dataDir(t))
	ann := s.person("ann@example.test", true)
	ann.connect(e, "")
	chat, reply := ann.ask("m", "hello")
	<-asked
	if got := ann.do("POST", "/api/v1/chats/"+chat+"/stop", nil); got.status != 202 {
		t.Errorf("stop: %d %s", got.status, got.body)
	}
	<-left
	if status := ann.awaitEnd(chat, reply); status != events.Stopped || ann.transcript(chat).Status != "idle" {
		t.Errorf("the reply ended %s", status)
	}
}

// TestFailureLeavesTheQueueAlone: what was queued behind a reply that fails is
// not sent into the same trouble (F32).
func TestFailureLeavesTheQueueAlone(t *testing.T) {
	queued := make(chan struct{})
	e := newEndpoint(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		<-queued
		_, _ = io.WriteString(w, "<html>no</html>")
	})
	s := serve(t, dataDir(t))
	ann := s.person("ann@example.test", true)
	ann.connect(e, "")
	chat, reply := ann.ask("m", "hello")
	if got := ann.want(202, "POST", "/api/v1/chats/"+chat+"/messages", map[string]any{"text": "and then"}); got["queued"] != true {
		t.Errorf("while a reply runs a message is %v", got)
	}
	close(queued)
	if status := ann.awaitEnd(chat, reply); status != events.Failed {
		t.Errorf("the reply ended %s", status)
	}
	if got := ann.transcript(chat); len(got.Queue) != 1 || text(got.Queue[0]["text"]) != "and then" || e.count() != 1 {
		t.Errorf("queue %v after %d requests", got.Queue, e.count())
	}
}

// TestTheSameSubmissionTwice: a double click and a try after a timeout make one
// message and one reply; the second answer names the first (F42).
func TestTheSameSubmissionTwice(t *testing.T) {
	e := newEndpoint(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		says(w, "Here.")
		ends(w)
	})
	s := serve(t, dataDir(t))
	ann := s.person("ann@example.test", true)
	ann.connect(e, "")
	var work sync.WaitGroup
	answers := make([]answer, 20)
	for i := range answers {
		work.Go(func() {
			answers[i], _ = ann.try("POST", "/api/v1/chats", map[string]any{"model": "m", "text": "hello"}, "Idempotency-Key", "one")
		})
	}
	work.Wait()
	first := answers[0].json(t)
	for _, a := range answers {
		if got := a.json(t); a.status != 201 || got["chat_id"] != first["chat_id"] || got["message_id"] != first["message_id"] || got["reply_id"] != first["reply_id"] {
			t.Errorf("%d %v, the first was %v", a.status, got, first)
		}
	}
	chat := text(first["chat_id"])
	ann.awaitEnd(chat, text(first["reply_id"]))
	path := "/api/v1/chats/" + chat + "/messages"
	second := ann.want(202, "POST", path, map[string]any{"text": "again"}, "Idempotency-Key", "two")
	s.kill() // and the process that answers the second try is another one
	s.start()
	if got := ann.want(202, "POST", path, map[string]any{"text": "again"}, "Idempotency-Key", "two"); got["message_id"] != second["message_id"] || got["reply_id"] != second["reply_id"] {
		t.Errorf("%v, the first was %v", got, second)
	}
	if got := ann.do("POST", path, map[string]any{"text": "something else"}, "Idempotency-Key", "two"); got.status/100 != 4 {
		t.Errorf("another message under the same key: %d %s", got.status, got.body)
	}
	ann.awaitEnd(chat, text(second["reply_id"]))
	if got := ann.transcript(chat); len(got.Messages) != 4 {
		t.Errorf("%d messages", len(got.Messages))
	}
	if items, _ := ann.want(200, "GET", "/api/v1/chats", nil)["items"].([]any); len(items) != 1 {
		t.Errorf("%d chats", len(items))
	}
}

// TestAMessageThatAKillCutsOff: the server is killed while a message is on its
// way. Sent again with the same key it is there exactly once (F01).
func TestAMessageThatAKillCutsOff(t *testing.T) {
	e := newEndpoint(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		says(w, "Here.")
		ends(w)
	})
	s := serve(t, dataDir(t))
	ann := s.person("ann@example.test", true)
	ann.connect(e, "")
	for i := range 8 {
		body, key := map[string]any{"model": "m", "text": fmt.Sprintf("number %d", i)}, fmt.Sprint("key", i)
		done := make(chan answer, 1)
		go func() {
			a, _ := ann.try("POST", "/api/v1/chats", body, "Idempotency-Key", key) // it may be cut off
			done <- a
		}()
		if i%2 == 0 { // at once; else when it was answered
			s.kill()
		}
		first := <-done
		s.kill()
		ann.http.CloseIdleConnections()
		s.start()
		again := ann.want(201, "POST", "/api/v1/chats", body, "Idempotency-Key", key)
		if first.status == 201 && first.json(t)["chat_id"] != again["chat_id"] {
			t.Errorf("acknowledged as %s, then %v", first.body, again)
		}
		if status := ann.awaitEnd(text(again["chat_id"]), text(again["reply_id"])); status != events.Complete {
			t.Errorf("the reply ended %s", status)
		}
	}
	count := 0
	for line := range strings.Lines(mustCLI(t, "", "events", "--data", s.dir, "--type", "message.submitted")) {
		count++
		if !strings.Contains(line, "number ") {
			t.Errorf("a message that nobody sent: %s", line)
		}
	}
	if count != 8 {
		t.Errorf("%d messages, want 8", count)
	}
}

// TestDeletingAChatEndsItsReply: the endpoint is left, and the log says that the
// deletion came (F45).
func TestDeletingAChatEndsItsReply(t *testing.T) {
	left := make(chan struct{})
	e := newEndpoint(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		says(w, "So far")
		<-r.Context().Done()
		close(left)
	})
	s := serve(t, dataDir(t))
	ann := s.person("ann@example.test", true)
	ann.connect(e, "")
	chat, _ := ann.ask("m", "hello")
	ann.until(chat, "reply.chunk")
	if got := ann.do("DELETE", "/api/v1/chats/"+chat, nil); got.status/100 != 2 {
		t.Errorf("deleting: %d", got.status)
	}
	<-left
	if got := ann.do("GET", "/api/v1/chats/"+chat, nil); got.status != 404 {
		t.Errorf("a deleted chat: %d", got.status)
	}
}
