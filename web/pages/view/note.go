package view

import (
	"strconv"

	"lembas/projections/transcript"
	"lembas/web/templates"
)

// notes are the remarks of a round: retries, a restart, an error, and why the
// reply went on or lost its tools.
func notes(r *transcript.Reply, x *transcript.Round) []templates.Note {
	var out []templates.Note
	add := func(key, kind, text string) {
		out = append(out, templates.Note{Reply: r.ID, N: x.N, Key: key, Kind: kind, Text: text})
	}
	for _, y := range r.Rounds {
		if y.N == x.N && y.Superseded {
			add("again", "info", "Interrupted by a restart, asked again.")
			break
		}
	}
	if x.Superseded {
		return out
	}
	for i, t := range x.Retries {
		add("retry"+strconv.Itoa(i+1), "warn", retryText(t)+".")
	}
	for i, n := range x.Notes {
		kind, text := noteText(n)
		add(n.Kind+strconv.Itoa(i+1), kind, text)
	}
	if x.Error != nil && r.Status != transcript.Failed {
		title, _ := errorText(x.Error)
		add("error", "warn", title)
	}
	return out
}

func noteText(n transcript.Note) (kind, text string) {
	if n.Kind == "budget" {
		return "warn", budgetText(n.Budget, n.Limit)
	}
	return "info", "It stopped with open tasks in its plan, so it was asked to go on."
}

// budgetText says which limit a reply came to. But for the one that leaves no
// room, tools are taken away and the model is asked once more for an answer.
func budgetText(budget string, limit int64) string {
	const answer = " It was asked for its answer, without tools."
	switch budget {
	case "limits.rounds":
		return "The limit of " + number(int(limit)) + " rounds was reached." + answer
	case "limits.wall_clock":
		return "The time limit of " + seconds(limit*1000) + " was reached." + answer
	case "limits.output_tokens":
		return "The limit of " + number(int(limit)) + " tokens of output was reached." + answer
	case "limits.tool_output":
		return "The tools have brought as much as may be read in one reply (" + bytesText(limit) + ")." + answer
	case "limits.context_headroom":
		return "The model's context is nearly full." + answer
	case "repeated_calls":
		return "It made the very same calls again and again." + answer
	case "refused_calls":
		return "It only made calls that cannot be run." + answer
	}
	return "A limit was reached (" + lineOf(budget, 60) + ")." + answer
}
