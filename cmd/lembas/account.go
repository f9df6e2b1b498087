package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/term"

	"lembas/commands"
	"lembas/events"
	"lembas/events/vault"
)

// SecretKeyCmd prints a new master key.
type SecretKeyCmd struct{}

// Run prints a key as LEMBAS_SECRET_KEY takes it.
func (SecretKeyCmd) Run(p *program) error {
	_, err := fmt.Fprintln(p.stdout, vault.NewKey())
	return err
}

// CreateAdminCmd creates an administrator or promotes an account.
type CreateAdminCmd struct {
	Email         string `help:"E-mail address." required:""`
	Name          string `help:"Name that others see."`
	PasswordStdin bool   `help:"Read the password from standard input."`
}

// Run asks for the password and does it.
func (c *CreateAdminCmd) Run(ctx context.Context, p *program, g *Globals) error {
	password, err := readPassword(p, c.PasswordStdin)
	if err != nil {
		return err
	}
	return perform(ctx, p, g, &createAdminCall{Email: c.Email, Name: c.Name, Password: password}, true)
}

// readPassword reads one line from standard input, or asks on a terminal.
func readPassword(p *program, fromStdin bool) (string, error) {
	if f, ok := p.stdin.(*os.File); ok && !fromStdin {
		if !term.IsTerminal(int(f.Fd())) {
			return "", &usageError{"give the password with --password-stdin, or run on a terminal"}
		}
		_, _ = fmt.Fprint(p.stderr, "Password: ")
		b, err := term.ReadPassword(int(f.Fd()))
		_, _ = fmt.Fprintln(p.stderr)
		return string(b), err
	}
	line, err := bufio.NewReader(io.LimitReader(p.stdin, commands.MaxPassword+2)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	return strings.TrimRight(line, "\r\n"), nil
}

type createAdminCall struct{ Email, Name, Password string }

func (*createAdminCall) name() string { return "create-admin" }

func (c *createAdminCall) run(ctx context.Context, a *app, out io.Writer) error {
	_, err := a.service.UserByEmail(ctx, c.Email)
	existed := err == nil
	if _, err := a.service.CreateAdmin(ctx, commands.Caller{}, commands.Register{Email: c.Email, Name: c.Name, Password: c.Password}); err != nil {
		return err
	}
	verb := "created"
	if existed {
		verb = "promoted"
	}
	_, err = fmt.Fprintf(out, "%s administrator %s\n", verb, c.Email)
	return err
}

// TokenCmd is API tokens.
type TokenCmd struct {
	Create TokenCreateCmd `cmd:"" help:"Create a token; it is printed this once."`
	List   TokenListCmd   `cmd:"" help:"List tokens."`
	Revoke TokenRevokeCmd `cmd:"" help:"Revoke a token."`
}

// TokenCreateCmd creates a token.
type TokenCreateCmd struct {
	User    string `help:"E-mail address of the account." required:""`
	Name    string `help:"What the token is for." default:"cli"`
	Expires string `help:"When it ends: a duration such as 720h or 30d, or a date." placeholder:"D"`
	Scope   string `help:"read, write or admin; without it all that the account may do." default:"" enum:",read,write,admin"`
}

// Run creates the token.
func (c *TokenCreateCmd) Run(ctx context.Context, p *program, g *Globals) error {
	expires, err := parseExpiry(c.Expires, time.Now())
	if err != nil {
		return err
	}
	return perform(ctx, p, g, &tokenCreateCall{User: c.User, Name: c.Name, Scope: c.Scope, Expires: expires}, false)
}

// parseExpiry reads a duration from now ("30d", "12h"), a date or a time.
func parseExpiry(s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	var days int
	if n, err := fmt.Sscanf(s, "%dd", &days); n == 1 && err == nil && s == fmt.Sprintf("%dd", days) {
		return now.AddDate(0, 0, days), nil
	}
	if d, err := time.ParseDuration(s); err == nil {
		return now.Add(d), nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	return time.Time{}, &usageError{fmt.Sprintf("--expires %q: a duration such as 30d or 12h, a date such as 2027-01-31, or an RFC 3339 time", s)}
}

type tokenCreateCall struct {
	User, Name, Scope string
	Expires           time.Time
}

func (*tokenCreateCall) name() string { return "token-create" }

func (c *tokenCreateCall) run(ctx context.Context, a *app, out io.Writer) error {
	u, err := a.service.UserByEmail(ctx, c.User)
	if err != nil {
		return explain("account", err)
	}
	scope := c.Scope
	if scope == "" && u.Admin {
		scope = events.ScopeAdmin // whoever may read the directory may do all of it
	}
	t, err := a.service.CreateToken(ctx, commands.Caller{User: u.ID}, commands.CreateToken{Name: c.Name, Scope: scope, Expires: c.Expires})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, t.Secret)
	return err
}

// TokenListCmd lists tokens.
type TokenListCmd struct {
	User string `help:"E-mail address of the account; without it all accounts."`
}

// Run lists them.
func (c *TokenListCmd) Run(ctx context.Context, p *program, g *Globals) error {
	return perform(ctx, p, g, &tokenListCall{User: c.User}, false)
}

type tokenListCall struct{ User string }

func (*tokenListCall) name() string { return "token-list" }

func (c *tokenListCall) run(ctx context.Context, a *app, out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "ID\tUSER\tNAME\tSCOPE\tCREATED\tEXPIRES")
	if c.User != "" {
		u, err := a.service.UserByEmail(ctx, c.User)
		if err != nil {
			return explain("account", err)
		}
		listTokens(w, u)
		return w.Flush()
	}
	for e, err := range a.log.ReadFilter(ctx, 0, func(typ, _ string) bool { return typ == "user.registered" }) {
		if err != nil {
			return err
		}
		u, err := a.service.User(ctx, e.Stream[len("user/"):])
		if err != nil {
			return err
		}
		listTokens(w, u)
	}
	return w.Flush()
}

// listTokens writes a line for each token of an account, the oldest first.
func listTokens(w io.Writer, u commands.User) {
	for _, t := range slices.SortedFunc(maps.Values(u.Tokens), func(a, b commands.Token) int { return a.Created.Compare(b.Created) }) {
		expires := "never"
		if !t.Expires.IsZero() {
			expires = t.Expires.UTC().Format(time.RFC3339)
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", t.ID, printable(u.Email), printable(t.Name), t.Scope, t.Created.UTC().Format(time.RFC3339), expires)
	}
}

// printable keeps what a person typed from acting on a terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 || (r >= 0x7f && r < 0xa0) {
			return '�'
		}
		return r
	}, s)
}

// TokenRevokeCmd revokes a token.
type TokenRevokeCmd struct {
	ID string `arg:"" help:"The token's id, as token list shows it."`
}

// Run revokes it.
func (c *TokenRevokeCmd) Run(ctx context.Context, p *program, g *Globals) error {
	return perform(ctx, p, g, &tokenRevokeCall{ID: c.ID}, false)
}

type tokenRevokeCall struct{ ID string }

func (*tokenRevokeCall) name() string { return "token-revoke" }

func (c *tokenRevokeCall) run(ctx context.Context, a *app, out io.Writer) error {
	owner, err := tokenOwner(ctx, a, c.ID)
	if err != nil {
		return err
	}
	if _, err := a.service.RevokeToken(ctx, commands.Caller{User: owner}, c.ID); err != nil {
		return explain("token", err)
	}
	_, err = fmt.Fprintf(out, "revoked %s\n", c.ID)
	return err
}
