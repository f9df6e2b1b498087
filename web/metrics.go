package web

import (
	"net/http"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"lembas/web/request"
)

// counted counts requests by route, method and status. Routes are patterns, so
// the number of series is bounded.
func counted(reg *prometheus.Registry) func(http.Handler) http.Handler {
	seconds := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "lembas_http_request_seconds", Help: "Time to answer a request; of a stream its whole life.",
		Buckets: []float64{.001, .005, .02, .1, .5, 2, 10, 60, 600},
	}, []string{"route", "method", "status"})
	running := prometheus.NewGauge(prometheus.GaugeOpts{Name: "lembas_http_requests_running", Help: "Requests being answered, streams among them."})
	reg.MustRegister(seconds, running)
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			begun := time.Now()
			running.Inc()
			defer func() {
				running.Dec()
				status, pattern := 0, chi.RouteContext(r.Context()).RoutePattern()
				if rec, ok := w.(*request.Recorder); ok {
					status = rec.Status
				}
				if pattern == "" {
					pattern = "none"
				}
				seconds.WithLabelValues(pattern, method(r.Method), strconv.Itoa(status)).Observe(time.Since(begun).Seconds())
			}()
			next.ServeHTTP(w, r)
		})
	}
}

// method bounds the label: clients may send any word.
func method(m string) string {
	switch m {
	case "GET", "HEAD", "POST", "PATCH", "DELETE":
		return m
	}
	return "other"
}

// metrics shows the registry to administrators; for everybody else it is not
// there.
func metrics(reg *prometheus.Registry) request.Handler {
	show := promhttp.HandlerFor(reg, promhttp.HandlerOpts{})
	return func(w http.ResponseWriter, r *http.Request) error {
		if _, err := request.Admin(r); err != nil {
			return request.NotFound()
		}
		show.ServeHTTP(w, r)
		return nil
	}
}
