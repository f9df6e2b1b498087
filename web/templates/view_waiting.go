package templates

// Waiting is the page with everything that waits for a person.
type Waiting struct {
	Shell
	List WaitingList
}

// WaitingList is the cards, the oldest first.
type WaitingList struct {
	Cards []WaitingCard
	// More is how many more there are than are shown.
	More int
}

// WaitingCard is a card with the chat that it is in.
type WaitingCard struct {
	Chat  string
	Title string // of the chat
	Path  string // of the card in its chat
	Since Time
	Card  Card
}

// WaitingNav is the entry in the navigation.
type WaitingNav struct {
	Count int
	Here  bool // the page is the one it leads to
}
