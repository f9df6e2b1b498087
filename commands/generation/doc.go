// Package generation is the loop that answers: rounds of request, stream and
// tool calls, from reply.requested to reply.finished. It folds the chat, asks
// the endpoint, runs tools and appends what happens; it holds nothing that a
// restart would lose. A reply that a crash cut is taken up again by the
// redelivery of its message and by what its stream says: a finished round is
// never asked again, one that was streaming is superseded and asked again, a
// call that ran has an outcome that nobody knows and is not run again.
//
// What needs a person's word goes onto one card of the round (offer.go), in the
// same append as the calls; then the loop ends (park.go), and the answer's own
// event starts it again. Calls run once that is durable (act.go).
//
// It imports commands, commands/llm, commands/policy, commands/tools, the
// transcript and events.
package generation
