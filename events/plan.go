package events

// The states of a task.
const (
	TaskOpen    = "open"
	TaskDoing   = "doing"
	TaskDone    = "done"
	TaskDropped = "dropped"
)

// PlanSubmitted is a plan that a model made.
type PlanSubmitted struct {
	Plan       string      `json:"plan"`
	Reply      string      `json:"reply"`
	Findings   string      `json:"findings,omitempty"`
	Objectives string      `json:"objectives,omitempty"`
	Phases     []PlanPhase `json:"phases"`
}

// PlanPhase is a group of tasks.
type PlanPhase struct {
	Title string     `json:"title"`
	Tasks []PlanTask `json:"tasks"`
}

// PlanTask is one task; its id is unique in the plan.
type PlanTask struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	State string `json:"state"`
}

// PlanUpdated changes the state of tasks of the newest plan.
type PlanUpdated struct {
	Reply string     `json:"reply"`
	Tasks []TaskMark `json:"tasks"`
}

// TaskMark is the new state of one task.
type TaskMark struct {
	ID    string `json:"id"`
	State string `json:"state"`
}

func (PlanSubmitted) EventType() string { return "plan.submitted" }
func (PlanUpdated) EventType() string   { return "plan.updated" }

func planTypes() []Info { return []Info{define[PlanSubmitted](1), define[PlanUpdated](1)} }
