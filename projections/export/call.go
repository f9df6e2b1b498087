package export

import (
	"fmt"
	"strings"

	"lembas/projections/transcript"
)

// block is a titled text that stands as it is.
type block struct{ Title, Language, Text string }

// blocks are what a reader sees of a call below its name, in their order.
func blocks(owner string, x *transcript.Round, k *transcript.Call) []block {
	var out []block
	if k.Edited {
		title := "What ran, as it was corrected"
		if k.Started.IsZero() {
			title = "As it was corrected; it did not run"
		}
		out = append(out, block{"What the model sent", "json", indented(k.Raw)}, block{title, "json", indented(arguments(k))})
	} else {
		out = append(out, block{"", "json", indented(arguments(k))})
	}
	for _, b := range []block{{"Verdict", "", said(owner, x, k)}, {"", "diff", k.Diff}, {"", "", told(x, k)}, {"", "", pictures(k)}} {
		if b.Text != "" {
			out = append(out, b)
		}
	}
	return out
}

// status is where a call stands, in one word.
func status(x *transcript.Round, k *transcript.Call) string {
	if card := x.Card(k.ID); card != nil && card.State == transcript.CardWaiting && !k.Over() {
		return transcript.Waiting
	}
	return k.Status
}

// output is what the model was told of a call. Where the log has the whole
// beside it, what is left out is named instead of how a model reads on.
func output(k *transcript.Call) string {
	head, missing, tail := k.Parts()
	if missing > 0 {
		return fmt.Sprintf("%s\n\n[… %d bytes are left out here; the whole output is the blob %s of %d bytes …]\n\n%s", head, missing, k.Blob.Digest, k.Blob.Size, tail)
	}
	return k.Told()
}

// waits is told of a call whose card waits.
const waits = "This waits for its person and has not run yet."

// told is output, or that the call waits.
func told(x *transcript.Round, k *transcript.Call) string {
	if status(x, k) == transcript.Waiting {
		return waits
	}
	return output(k)
}

// pictures names what a call brought beside its text, one a line.
func pictures(k *transcript.Call) string {
	var out []string
	for _, f := range k.Images {
		out = append(out, fmt.Sprintf("Picture: %s, %s, %d bytes, blob %s", line(f.Name), line(f.Type), f.Blob.Size, f.Blob.Digest))
	}
	return strings.Join(out, "\n")
}
