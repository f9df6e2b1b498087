package request

import "net/http"

// Recorder remembers the status of an answer. http.ResponseController reaches
// through it.
type Recorder struct {
	http.ResponseWriter
	Status int // 0 before the answer has begun
}

// WriteHeader remembers the status; informational ones do not begin the answer.
func (w *Recorder) WriteHeader(status int) {
	if w.Status == 0 && (status >= 200 || status == http.StatusSwitchingProtocols) {
		w.Status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write begins the answer with 200 when nothing else did.
func (w *Recorder) Write(b []byte) (int, error) {
	if w.Status == 0 {
		w.Status = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

// Flush sends what was written; it does nothing where the server cannot.
func (w *Recorder) Flush() {
	if w.Status == 0 {
		w.Status = http.StatusOK
	}
	_ = http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap is for http.ResponseController.
func (w *Recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }
