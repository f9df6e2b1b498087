// Package pages answers the routes of people: pages, and the fragments that
// htmx puts into them. A handler reads what it shows, makes a view of it and
// renders a template; a form is a command of commands.Service, and comes back
// as its own section, with 422 and the field errors when it was refused.
//
// It imports events, commands, projections/transcript and the other rooms under
// web but stream. Model text reaches a page through web/markdown only; all else
// is escaped by html/template.
package pages
