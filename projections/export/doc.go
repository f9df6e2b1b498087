// Package export writes one chat in the formats that people take away: Markdown,
// one HTML file, JSON in the OpenAI messages shape, and the events themselves,
// one a line. All are pure functions over a transcript or its envelopes.
//
// It imports events and projections/transcript. What holds an empty chat, a
// stopped reply or a failed one is exported as it stands.
package export
