// Package custom runs the HTTP tools that an administrator describes with
// templates. A template holds arguments as {{name}}; a value is escaped for the
// place where it lands, and no value can move the request to another scheme,
// host, port, method, header or body key. Filling a template is pure; sending
// goes through guard, hop by hop.
//
// It may import events, commands/tools and commands/tools/guard.
package custom
