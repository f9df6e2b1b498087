package tools

import "strings"

// BuiltIn says whether a name is, or will be, one of the product's own tools.
// Nothing else is ever called so: notes_ and memory_ are whole families.
func BuiltIn(name string) bool {
	switch name {
	case "fetch", "web_search", "ask_user", "read_output",
		"knowledge_search", "knowledge_get", "skill_get", "skill_edit",
		"shell_run", "file_read", "file_write", "file_edit", "file_list", "file_search",
		"job_list", "job_output", "job_stop", "plan_submit", "plan_update":
		return true
	}
	return strings.HasPrefix(name, "notes_") || strings.HasPrefix(name, "memory_")
}
