package transcript

import (
	"time"

	"lembas/events"
)

// CharactersPerToken is the estimate where an endpoint reports no usage.
const CharactersPerToken = 4

// EstimateTokens is the estimate for a text of that many bytes.
func EstimateTokens(bytes int) int { return (bytes + CharactersPerToken - 1) / CharactersPerToken }

// Measure gives a reply's figures at its end. contextLength is the model's, in
// tokens, 0 when not known.
func Measure(r *Reply, contextLength int, now time.Time) events.Metrics {
	m := events.Metrics{MS: max(0, now.Sub(r.Requested).Milliseconds())}
	var streaming int64
	var lastPrompt int
	for _, x := range r.Rounds {
		if !x.Superseded {
			m.Rounds++
		}
		prompt, completion := x.Estimate, EstimateTokens(x.Content.Len()+x.Reasoning.Len()+CallBytes(x))
		if x.Usage != nil {
			prompt, completion = x.Usage.Prompt, x.Usage.Completion
		} else {
			m.Estimated = true
		}
		m.Prompt += prompt
		m.Completion += completion
		lastPrompt = prompt
		if x.FirstMS != nil {
			if m.FirstMS == nil {
				first := x.Started.Sub(r.Requested).Milliseconds() + *x.FirstMS
				m.FirstMS = &first
			}
			streaming += x.MS - *x.FirstMS
		}
	}
	if streaming > 0 {
		m.TokensPerSecond = float64(int(float64(m.Completion)*10000/float64(streaming))) / 10
	}
	if contextLength > 0 && m.Rounds > 0 {
		share := float64(int(float64(lastPrompt)*1000/float64(contextLength))) / 10
		m.Context = &share
	}
	return m
}

// CallBytes is what a model wrote of the calls of a round.
func CallBytes(x *Round) (n int) {
	for _, k := range x.Calls {
		n += len(k.Name) + len(k.Raw)
	}
	return n
}
