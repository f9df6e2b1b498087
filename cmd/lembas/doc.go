// Command lembas is the whole product: one binary, one data directory. The
// subcommands stand in files by noun; app.go opens what they share, house.go
// wires all rooms for serve and is the only place that sees them all.
//
// Beside a running server a subcommand talks to it over the control socket in
// the data directory; without one it opens the directory itself. Both ways run
// the same code (control.go).
package main
