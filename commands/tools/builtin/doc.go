// Package builtin holds the product's own tools of ordinary chats: fetch,
// web_search and ask_user. What pages and providers answer is untrusted: it is
// bounded, decoded and cleaned here, and goes on as plain text.
//
// Pages are read from the stream of their tokens, in linear time and without a
// tree: a tree can be made a thousand times larger than its page. A search
// provider's own address is the administrator's, so it may be private; nothing
// that it leads to may. It may import events, commands/tools and
// commands/tools/guard.
package builtin
