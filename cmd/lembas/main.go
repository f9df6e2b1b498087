package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
)

// version is set by the linker.
var version = "dev"

// Exit statuses (contract.md).
const (
	exitFailed = 1
	exitUsage  = 2
)

// Globals are the flags that every command takes.
type Globals struct {
	Data string `help:"Data directory." default:"./data" env:"LEMBAS_DATA" placeholder:"DIR"`
}

// CLI is the command line.
type CLI struct {
	Globals

	Serve ServeCmd `cmd:"" help:"Serve the web interface and the API."`

	Info        InfoCmd        `cmd:"" help:"Show paths, version, counts and the log's head."`
	SecretKey   SecretKeyCmd   `cmd:"" help:"Print a new LEMBAS_SECRET_KEY."`
	CreateAdmin CreateAdminCmd `cmd:"" help:"Create an administrator, or promote an account."`
	Token       TokenCmd       `cmd:"" help:"Create, list and revoke API tokens."`
	Follow      FollowCmd      `cmd:"" help:"Follow the live events of one chat, as NDJSON."`
	Events      EventsCmd      `cmd:"" help:"Print stored events, as NDJSON."`
	Audit       AuditCmd       `cmd:"" help:"The audit trail."`
	Export      ExportCmd      `cmd:"" help:"Export chats."`
	Backup      BackupCmd      `cmd:"" help:"Write a consistent copy into a new or empty directory."`
	Restore     RestoreCmd     `cmd:"" help:"Make the data directory from a copy, with a new epoch."`
	Verify      VerifyCmd      `cmd:"" help:"Read everything, recompute, name the first bad position."`
	Version     VersionCmd     `cmd:"" help:"Print the version."`
}

// program is the process as a value, so that tests start it like main does.
type program struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	env            func(string) string
}

func main() {
	// Conversations are nobody else's: neither in a data directory that was made
	// with wider permissions, nor in an export, nor on the control socket in the
	// moment before its mode is set.
	syscall.Umask(0o077)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	p := &program{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, env: os.Getenv}
	os.Exit(p.run(ctx, os.Args[1:]))
}

func (p *program) run(ctx context.Context, args []string) (code int) {
	var cli CLI
	exited := -1
	parser, err := kong.New(&cli, kong.Name("lembas"), kong.Description("A self-hosted chat interface on an append-only log."),
		kong.UsageOnError(), kong.Writers(p.stdout, p.stderr), kong.Exit(func(c int) { exited = c }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}))
	if err != nil {
		return p.fail(err, exitFailed)
	}
	k, err := parser.Parse(args)
	if exited >= 0 { // --help
		return exited
	}
	if err != nil {
		return p.fail(fmt.Errorf("%w (lembas --help shows what there is)", err), exitUsage)
	}
	k.BindTo(ctx, (*context.Context)(nil))
	err = k.Run(p, &cli.Globals)
	var usage *usageError
	switch {
	case errors.As(err, &usage):
		return p.fail(err, exitUsage)
	case err != nil:
		return p.fail(err, exitFailed)
	}
	return 0
}

// fail says in one line why.
func (p *program) fail(err error, code int) int {
	line := strings.Join(strings.Fields(err.Error()), " ")
	_, _ = fmt.Fprintln(p.stderr, "lembas: "+line)
	return code
}

// usageError is a wrong command line that the parser could not see.
type usageError struct{ msg string }

func (e *usageError) Error() string { return e.msg }

// VersionCmd prints the version.
type VersionCmd struct{}

// Run prints the version.
func (VersionCmd) Run(p *program) error {
	_, err := fmt.Fprintln(p.stdout, version)
	return err
}
