package custom

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"lembas/commands/tools"
	"lembas/commands/tools/guard"
	"lembas/events"
)

// Gate is the family of these tools.
const Gate = "custom"

// Client sends requests; guard.Client is one.
type Client interface {
	Do(ctx context.Context, r guard.Request) (*guard.Response, error)
}

// New makes a tool that can be offered. secrets are the values of its secret
// headers by name.
func New(st events.CustomState, secrets map[string]string, client Client) tools.Tool {
	return tools.Tool{
		Spec: tools.Spec{Name: st.Slug, Description: st.Description, Schema: Schema(st), Risk: st.Risk, Gate: Gate, Scope: Gate + ":" + st.Slug,
			Label: st.Label, Icon: "tool", Guidance: st.Guidance, Timeout: time.Duration(st.Timeout) * time.Second},
		Run: func(ctx context.Context, call tools.Call) tools.Result {
			r, err := Fill(st, secrets, call.Arguments)
			if err != nil {
				return failed(err)
			}
			return send(ctx, client, r, time.Duration(st.Timeout)*time.Second)
		},
	}
}

// Try sends one request of a tool, which may be a draft, and gives the request
// as text, secrets masked, beside the answer. An error says why nothing was
// sent; it is an events.FieldError of the tool's field or of "arguments".
func Try(ctx context.Context, client Client, st events.CustomState, secrets map[string]string, args json.RawMessage) (preview string, result tools.Result, err error) {
	if st.Timeout < 1 || st.Timeout > MaxTimeout {
		return "", tools.Result{}, events.Invalid("timeout", "1 to %d seconds", MaxTimeout)
	}
	r, err := Fill(st, secrets, args)
	if errors.Is(err, ErrArguments) {
		err = events.Invalid("arguments", "%s", err)
	}
	if err != nil {
		return "", tools.Result{}, err
	}
	return Preview(r), send(ctx, client, r, time.Duration(st.Timeout)*time.Second), nil
}

func failed(err error) tools.Result {
	if errors.Is(err, ErrArguments) {
		return tools.Failed("The call was not sent: " + err.Error())
	}
	return tools.Result{Status: events.ToolRefused, Output: "The tool may not be called as it is set up; an administrator has to look at it. " + err.Error()}
}

func send(ctx context.Context, client Client, r Request, timeout time.Duration) tools.Result {
	res, err := client.Do(ctx, guard.Request{Method: r.Method, URL: r.URL, Header: r.Header.Clone(), Secret: r.Secret, Body: r.Body,
		MaxBody: MaxAnswer, Timeout: timeout, Redirects: guard.FollowSame})
	switch {
	case errors.Is(err, guard.ErrRefused):
		return tools.Result{Status: events.ToolRefused, Output: r.mask("The request was refused: " + err.Error())}
	case err != nil:
		return tools.Failed(r.mask("The request failed: " + err.Error()))
	}
	return answer(r, res)
}
