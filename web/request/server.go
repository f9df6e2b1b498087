package request

import (
	"log/slog"
	"net/http"
	"time"
)

// Server gives an http.Server with deadlines against slow clients. There is
// none for writing a whole answer, because streams go on for hours: who streams
// sets a deadline for each write. There is none for reading a whole request,
// because it would end streams too: Middleware bounds the body.
func Server(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}
