package main

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"io"
	"os"
	"path/filepath"
	"slices"

	"lembas/events"
	"lembas/projections/export"
	"lembas/projections/transcript"
	"lembas/web/markdown"
)

// ExportCmd writes chats.
type ExportCmd struct {
	Chats  []string `arg:"" optional:"" name:"chat" help:"Ids of chats."`
	User   string   `help:"All chats of the account with this e-mail address."`
	All    bool     `help:"All chats."`
	Format string   `help:"md, html, json or jsonl." default:"md" enum:"md,html,json,jsonl"`
	Output string   `short:"o" help:"Write to this file instead of standard output." placeholder:"FILE"`
}

// Run writes them to standard output or a file that appears when it is whole.
func (c *ExportCmd) Run(ctx context.Context, p *program, g *Globals) error {
	given := 0
	for _, is := range []bool{len(c.Chats) > 0, c.User != "", c.All} {
		if is {
			given++
		}
	}
	if given != 1 {
		return &usageError{"name chats, or give --user or --all"}
	}
	call := &exportCall{Chats: c.Chats, User: c.User, All: c.All, Format: c.Format}
	if c.Output == "" {
		return perform(ctx, p, g, call, false)
	}
	return intoFile(c.Output, func(w io.Writer) error { return performTo(ctx, p, g, call, false, w) })
}

// intoFile writes beside the file and renames, so that no half export is left.
func intoFile(name string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*")
	if err != nil {
		return err
	}
	err = errors.Join(write(f), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

type exportCall struct {
	Chats  []string
	User   string
	All    bool
	Format string
}

func (*exportCall) name() string { return "export" }

func (c *exportCall) run(ctx context.Context, a *app, out io.Writer) error {
	chats := c.Chats
	if len(chats) == 0 {
		var err error
		if chats, err = c.choose(ctx, a); err != nil {
			return err
		}
	}
	before, between, after := c.frame()
	for i, id := range chats {
		if i > 0 {
			before = between
		}
		if _, err := io.WriteString(out, before); err != nil {
			return err
		}
		if err := exportChat(ctx, a, id, c.Format, out); err != nil {
			return fmt.Errorf("chat %s: %w", id, explain("chat", err))
		}
	}
	if len(chats) == 0 {
		after = before + after
	}
	_, err := io.WriteString(out, after)
	return err
}

// frame is what stands before, between and after the chats of one output. In
// JSON one chat that was named is an object, and what may be many is a list.
func (c *exportCall) frame() (before, between, after string) {
	switch {
	case c.Format == "jsonl":
		return "", "", ""
	case c.Format == "md":
		return "", "\n---\n\n", ""
	case c.Format == "json" && len(c.Chats) != 1:
		return "[\n", ",\n", "]\n"
	}
	return "", "\n", ""
}

// choose lists the chats of an account, or all, oldest first.
func (c *exportCall) choose(ctx context.Context, a *app) ([]string, error) {
	owner := ""
	if c.User != "" {
		u, err := a.service.UserByEmail(ctx, c.User)
		if err != nil {
			return nil, explain("account", err)
		}
		owner = u.ID
	}
	var out []string
	for e, err := range a.log.ReadFilter(ctx, 0, func(typ, _ string) bool { return typ == "chat.created" || typ == "chat.deleted" }) {
		if err != nil {
			return nil, err
		}
		p, err := events.Decode(&e)
		if err != nil {
			return nil, err
		}
		switch p := p.(type) {
		case events.ChatCreated:
			if owner == "" || p.Owner == owner {
				out = append(out, p.Chat)
			}
		case events.ChatDeleted:
			out = slices.DeleteFunc(out, func(id string) bool { return events.ChatStream(id) == e.Stream })
		}
	}
	return out, nil
}

func exportChat(ctx context.Context, a *app, id, format string, out io.Writer) error {
	if format == "jsonl" {
		if err := a.service.WithChat(ctx, id, notDeleted); err != nil {
			return err
		}
		return export.Lines(out, a.log.ReadStream(ctx, events.ChatStream(id), 0))
	}
	var b []byte
	err := a.service.WithChat(ctx, id, func(c *transcript.Chat) (err error) {
		if err := notDeleted(c); err != nil {
			return err
		}
		switch format {
		case "json":
			b, err = export.JSON(c)
		case "html":
			r := markdown.New(markdown.Options{})
			b, err = export.HTML(c, func(prefix, src string) template.HTML { return r.Render(prefix, src) })
		default:
			b = export.Markdown(c)
		}
		return err
	})
	if err != nil {
		return err
	}
	_, err = out.Write(b)
	return err
}

func notDeleted(c *transcript.Chat) error {
	if c.Deleted {
		return fmt.Errorf("chat: %w", events.ErrNotFound)
	}
	return nil
}
