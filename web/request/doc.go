// Package request is what every HTTP request goes through: who it comes from,
// by which address, whether it may write, what its body says, and the one table
// that turns errors into answers. Handlers return an error and never write a
// failure themselves.
//
// It imports events and commands (for the identity and the caller of a
// command) and knows nothing of routes, pages or the API.
package request
