// Package auth is registering, signing in and signing out, for forms and for
// JSON, with the brake on guessing. Pages are drawn by others, through the Pages
// interface.
//
// It imports commands, events and web/request.
package auth
