package templates

// Shell is what all pages of a signed-in person share.
type Shell struct {
	Title   string // of the document, without the product's name
	Page    string // what is marked in the navigation: chat, new, settings, waiting, connections, models, tools, servers, search, users, instance
	Person  Person
	Theme   string // "", moria or shire; "" follows the system
	Font    string // "", serif or sans: the type of replies
	Sidebar SidebarTree
	Waiting WaitingNav
	Epoch   string // of the log
	Cursor  string // EPOCH.POSITION that the page was rendered at
	// Demo says that the instance runs with its built-in demo endpoint.
	Demo bool
	// ReadOnly is why the server takes no work at present, "" when it does.
	ReadOnly string
	// Keys and Follow carry the preferences that scripts read.
	EnterNewline bool
	NoFollow     bool
	NoShortcuts  bool
	Notify       bool
}

// Person is who is signed in.
type Person struct {
	ID      string
	Name    string
	Email   string
	Initial string // one character for the avatar
	Admin   bool
}

// Public is what the pages without a session share.
type Public struct {
	Title string
	Theme string // "" follows the system
	Demo  bool
}

// Errors maps a form field's name to what is wrong with it; "" is the whole
// form's. A nil map has none.
type Errors map[string]string

// Option is one choice of a select.
type Option struct {
	Value    string
	Label    string
	Selected bool
}

// Time is one moment in the two forms that a page needs.
type Time struct {
	ISO   string // RFC 3339 UTC, for <time datetime>
	Short string // as shown: "14:02", "3 March"
	Full  string // as the tooltip: "Tuesday, 3 March 2026, 14:02"
}

// Login is the page that asks for e-mail and password.
type Login struct {
	Public
	Next   string // a local path, or ""
	Email  string
	Errors Errors // email, password, ""
	Notice string // "You have been signed out.", or ""
	Signup bool   // whether Register is offered
}

// Register is the page that makes an account.
type Register struct {
	Public
	Next   string
	Name   string
	Email  string
	Errors Errors // name, email, password, ""
	First  bool   // the first account becomes the administrator
	Closed bool   // sign-up is switched off: says so, shows no form
}

// ErrorPage is any page that could not be shown.
type ErrorPage struct {
	Public
	Status  int
	Detail  string // one sentence in plain words, or ""
	Request string // correlation id, or ""
	Back    string // a local path to offer, "" is "/"
}

// Offline is what the service worker shows when there is no network.
type Offline struct {
	Public
}

// SidebarTree is the list of chats: pinned ones, folders, then by date.
type SidebarTree struct {
	Pinned  []ChatRow
	Folders []Folder
	Groups  []ChatGroup
	// More is the path of the next page of older chats, "" at the end.
	More string
}

// ChatGroup is the chats of one span of time: "Today", "Last week".
type ChatGroup struct {
	Label string
	Chats []ChatRow
}

// Folder is a folder with what is in it.
type Folder struct {
	ID      string
	Name    string
	Parent  string // id, "" at the top
	Open    bool
	Folders []Folder
	Chats   []ChatRow
}

// ChatRow is one chat in the sidebar.
type ChatRow struct {
	ID       string
	Title    string
	Folder   string // id, or ""
	Current  bool
	Pinned   bool
	Unread   bool
	NeedsYou bool
	Status   string // of the last reply: "" is idle, else streaming, waiting, queued, failed, stopped, interrupted
	Time     Time   // of the last activity
}
