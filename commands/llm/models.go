package llm

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Model is one row of an endpoint's list. All of it is untrusted text.
type Model struct {
	ID            string `json:"id"`
	Name          string `json:"name,omitempty"` // a name for people, "" when there is none
	OwnedBy       string `json:"owned_by,omitempty"`
	ContextLength int64  `json:"context_length,omitempty"` // tokens, 0 when not reported
}

// The bounds of a list of models: bytes read, rows kept, bytes of an id, time.
const (
	maxModelsBody = 16 << 20
	maxModels     = 10000
	maxModelID    = 500
	modelsTime    = 30 * time.Second
)

// Models asks the endpoint for its models (GET BaseURL/models) and returns them in its order, each id once. The error is
// an *Error in plain words, also for a web page or JSON of another shape; a cancelled context is KindStopped.
func (e *Endpoint) Models(ctx context.Context) ([]Model, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := time.AfterFunc(modelsTime, func() {
		cancel(&errTimeout{fmt.Sprintf("The endpoint did not list its models within %v.", modelsTime)})
	})
	defer watch.Stop()
	client, end := e.client()
	defer end()
	resp, err := e.send(ctx, client, http.MethodGet, "/models", nil)
	if err != nil {
		return nil, transportError(ctx, err, false).hide(e.APIKey)
	}
	defer resp.Body.Close()
	in, err := plainBody(resp)
	if err != nil {
		return nil, &Error{Kind: KindMalformed, Message: "The endpoint sent a compressed list of models that cannot be read."}
	}
	body, err := io.ReadAll(io.LimitReader(in, maxModelsBody+1))
	switch {
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return nil, e.hint(httpError(resp, body, time.Now())).hide(e.APIKey)
	case err != nil:
		return nil, transportError(ctx, err, false).hide(e.APIKey)
	case len(body) > maxModelsBody:
		return nil, &Error{Kind: KindTooLarge, Message: fmt.Sprintf("The endpoint's list of models is longer than %d bytes.", maxModelsBody)}
	}
	list, bad := readModels(body)
	if bad != nil {
		return nil, e.hint(bad).hide(e.APIKey)
	}
	return list, nil
}

// hint adds the usual remedy when the address looks like the reason.
func (e *Endpoint) hint(err *Error) *Error {
	if (err.Status == http.StatusNotFound || err.Kind == KindMalformed) && !strings.HasSuffix(e.BaseURL, "/v1") {
		err.Message = clip(err.Message, maxMessage-100) + " Check the base URL: it often ends in /v1."
	}
	return err
}

// readModels reads {data:[…]}, {models:[…]} or a bare list.
func readModels(body []byte) ([]Model, *Error) {
	body = []byte(strings.TrimPrefix(strings.TrimSpace(string(body)), bom))
	if kindOf(body) == '<' {
		return nil, pageError(body)
	}
	wrong := &Error{Kind: KindMalformed, Message: "The endpoint answered, but not with a list of models."}
	if !json.Valid(body) {
		return nil, wrong
	}
	list, isList := array(body), kindOf(body) == '['
	if m := object(body); m != nil {
		if isError(m["error"]) {
			return nil, streamError(m["error"])
		}
		for _, name := range []string{"data", "models"} {
			if kindOf(m[name]) == '[' {
				list, isList = array(m[name]), true
				break
			}
			isList = isList || name == "data" && kindOf(m[name]) == 'n' // Ollama without models
		}
	}
	if !isList {
		return nil, wrong
	}
	out, seen := []Model{}, map[string]bool{}
	for _, raw := range list {
		m := readModel(raw)
		if m.ID == "" || len(m.ID) > maxModelID || seen[m.ID] {
			continue
		}
		if len(out) == maxModels {
			break
		}
		seen[m.ID] = true
		out = append(out, m)
	}
	if len(list) > 0 && len(out) == 0 {
		return nil, wrong
	}
	return out, nil
}

func readModel(raw json.RawMessage) Model {
	if kindOf(raw) == '"' {
		return Model{ID: strings.TrimSpace(plain(raw))}
	}
	m := object(raw)
	id := scalar(m["id"])
	for _, name := range []string{"model", "name"} {
		if id == "" {
			id = plain(m[name])
		}
	}
	out := Model{ID: strings.TrimSpace(id), OwnedBy: clip(tidy(plain(m["owned_by"])), 200)}
	if name := clip(tidy(plain(m["name"])), 200); name != out.ID {
		out.Name = name
	}
	meta, top := object(m["meta"]), object(m["top_provider"])
	for _, n := range []json.RawMessage{m["context_length"], m["max_model_len"], m["context_window"], m["max_context_length"],
		m["max_context_window_tokens"], m["max_input_tokens"], meta["n_ctx"], meta["n_ctx_train"], top["context_length"]} {
		if v, ok := number(n); ok && v > 0 && out.ContextLength == 0 {
			out.ContextLength = v
		}
	}
	return out
}
