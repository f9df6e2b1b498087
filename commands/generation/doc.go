// Package generation is the loop that answers: rounds of request, stream and
// tool calls, from reply.requested to reply.finished. It folds the chat, asks
// the endpoint and appends what happens; it holds nothing that a restart would
// lose. A reply that a crash cut is taken up again by the redelivery of its
// reply.requested and by what its stream says: a finished round is never asked
// again, one that was streaming is superseded and asked again.
//
// It imports commands, commands/llm, the transcript and events.
package generation
