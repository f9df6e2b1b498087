package generation

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"lembas/commands"
	"lembas/commands/tools"
	"lembas/events"
	"lembas/projections/transcript"
)

// readMost is how many bytes of a long output read_output gives at once.
const readMost = 16 << 10

func hasLongOutput(reply *transcript.Reply) bool {
	for _, x := range reply.Live() {
		for _, k := range x.Calls {
			if k.Blob != nil {
				return true
			}
		}
	}
	return false
}

// readOutput lets a model read on in an output of this reply of which it got the
// head and the tail.
func (r *run) readOutput() tools.Tool {
	return tools.Tool{Spec: tools.Spec{
		Name:        "read_output",
		Description: fmt.Sprintf("Reads on in the output of an earlier tool call of this reply that was too long to be given whole. Gives at most %d bytes.", readMost),
		Schema: json.RawMessage(`{"type":"object","required":["call"],"properties":{` +
			`"call":{"type":"string","description":"the id of the call, as the shortened output names it"},` +
			`"from":{"type":"integer","description":"the byte to begin at, 0 when left out"}},"additionalProperties":false}`),
		Risk: events.RiskRead, Label: "Read on", Icon: "file", Detail: "call", Timeout: 10 * time.Second,
	}, Run: r.readOn}
}

func (r *run) readOn(ctx context.Context, call tools.Call) tools.Result {
	var args struct {
		Call string `json:"call"`
		From int64  `json:"from"`
	}
	if err := json.Unmarshal(call.Arguments, &args); err != nil {
		return tools.Failed("The arguments cannot be read: " + err.Error())
	}
	var blob *events.BlobRef
	err := r.loop.Service.WithChat(ctx, r.chat, func(c *transcript.Chat) error {
		_, reply := c.Reply(r.reply)
		if reply == nil {
			return nil
		}
		for _, x := range reply.Live() {
			for _, k := range x.Calls {
				if k.ID == args.Call && k.Blob != nil {
					cp := *k.Blob
					blob = &cp
				}
			}
		}
		return nil
	})
	if err != nil || blob == nil {
		return tools.Failed(fmt.Sprintf("There is no call %q with a long output in this reply.", oneLine(args.Call, 64)))
	}
	if args.From < 0 || args.From >= blob.Size {
		return tools.Failed(fmt.Sprintf("The output has bytes 0 to %d.", blob.Size-1))
	}
	b, err := r.loop.Blobs.Get(blob.Digest)
	if err != nil {
		return tools.Failed("The output is no longer kept.")
	}
	text := commands.Tail(string(b), len(b)-int(args.From))
	part := commands.Head(text, readMost)
	next := int64(len(b) - len(text) + len(part))
	if next >= blob.Size {
		return tools.Result{Status: events.ToolOK, Output: part + "\n\n[end of the output]"}
	}
	return tools.Result{Status: events.ToolOK, Output: fmt.Sprintf("%s\n\n[%d bytes follow; go on with from %d]", part, blob.Size-next, next)}
}
