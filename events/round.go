package events

import "encoding/json"

// RoundStarted is one request to the endpoint, exactly as sent, less secrets.
type RoundStarted struct {
	Reply string `json:"reply"`
	Round int    `json:"round"` // from 1
	// Request is the JSON body; for a large one Blob points at it instead.
	Request RawJSON  `json:"request,omitempty"`
	Blob    *BlobRef `json:"blob,omitempty"`
	// Estimate is the request's size in tokens at four characters a token.
	Estimate int `json:"estimate"`
}

// RoundRetried says that a round got no first byte for a passing reason and is
// asked again.
type RoundRetried struct {
	Reply   string     `json:"reply"`
	Round   int        `json:"round"`
	Attempt int        `json:"attempt"` // the one that failed, from 1
	Error   RoundError `json:"error"`
	WaitMS  int64      `json:"wait_ms"`
}

// RoundSuperseded says that a round was cut by a restart: its text does not
// count and it is asked again.
type RoundSuperseded struct {
	Reply  string `json:"reply"`
	Round  int    `json:"round"`
	Reason string `json:"reason"`
}

// Usage is tokens as the endpoint reported them. Cached is the part of Prompt
// and Reasoning the part of Completion; nil says that it was not reported.
type Usage struct {
	Prompt     int  `json:"prompt"`
	Completion int  `json:"completion"`
	Cached     *int `json:"cached"`
	Reasoning  *int `json:"reasoning"`
}

// FinishReason is why a round ended, as commands/llm names it; "" is null in
// JSON: the endpoint never said.
type FinishReason string

// MarshalJSON writes null for "".
func (f FinishReason) MarshalJSON() ([]byte, error) {
	if f == "" {
		return []byte("null"), nil
	}
	return json.Marshal(string(f))
}

// RoundError is what went wrong with an endpoint. Kind is one of http, stream,
// truncated, transport, timeout, not_sse, empty, malformed, too_large; at the
// end of a reply also unavailable, budget, internal. Message is the
// endpoint's words, bounded, and untrusted.
type RoundError struct {
	Kind    string `json:"kind"`
	Status  int    `json:"status,omitempty"`
	Message string `json:"message"`
}

// RoundFinished is the end of one request.
type RoundFinished struct {
	Reply        string       `json:"reply"`
	Round        int          `json:"round"`
	FinishReason FinishReason `json:"finish_reason"`
	Usage        *Usage       `json:"usage"`
	Error        *RoundError  `json:"error"`
	MS           int64        `json:"ms"`
	FirstMS      *int64       `json:"first_ms"`
}

func (RoundStarted) EventType() string    { return "round.started" }
func (RoundRetried) EventType() string    { return "round.retried" }
func (RoundSuperseded) EventType() string { return "round.superseded" }
func (RoundFinished) EventType() string   { return "round.finished" }

func roundTypes() []Info {
	return []Info{
		define[RoundStarted](1, weak), define[RoundRetried](1, weak),
		define[RoundSuperseded](1, weak), define[RoundFinished](1, weak),
	}
}
