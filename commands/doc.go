// Package commands is what is done: one file per noun with its commands and the
// pure decisions behind them. A decision gets the folded state and a command
// and gives payloads or an error; it does no I/O, reads no clock and makes no
// ids. Service folds, decides, appends with the expected version and, when
// somebody else was faster, does so again.
//
// It imports events and projections/transcript, never the stored projections
// and never web: where a decision needs a read model it declares an interface
// and cmd passes one in.
package commands
