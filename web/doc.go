// Package web puts the HTTP surface together: one handler with all routes, in
// one function on one screen (routes.go). What is under a route is in the rooms
// below: request (identity, origin, errors), auth, api, pages, stream, static.
//
// It imports those rooms, commands and events; never the endpoint client, the
// tools or ssh.
package web
