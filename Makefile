# Two commands set everything up: make run, make test.
export CGO_ENABLED ?= 0
GO        ?= go
DATA      ?= data
LISTEN    ?= 127.0.0.1:8080
VERSION   := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS   := -s -w -X main.version=$(VERSION)
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.9.0

.PHONY: build run test mcp-test race bench torture check fmt vet staticcheck vuln vendor-check screens corpus size deps clean

build: ## one binary
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/lembas ./cmd/lembas

run: build ## serve on loopback with a demo endpoint
	bin/lembas serve --demo --listen $(LISTEN) --data $(DATA)

deps: ## what the tests need from Debian
	@sh .ci/deps

test: deps ## all tests
	$(GO) test -timeout 20m ./...

# What drives a browser waits for it most of the time: it runs in make test only.
BROWSER := ^Test(APersonSignsUp|Cards|Talking|SettingsOfOne|Administration|ByKeyboard|OnAPhone|KeepingChats|ComingBack|TheServerDies|WhatStreamed|Trouble|AnotherName|Screens)

race: deps ## the tests under the race detector (needs gcc)
	CGO_ENABLED=1 $(GO) test -race -timeout 30m -skip '$(BROWSER)' $$($(GO) list ./... | grep -v '/web/static/js$$')

MCP_EVERYTHING := @modelcontextprotocol/server-everything@2026.8.31

mcp-test: ## the MCP client against a server from npm (needs node and npm, and the npm registry)
	dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && \
	npm install --prefix "$$dir" --ignore-scripts --no-audit --no-fund --silent $(MCP_EVERYTHING) && \
	LEMBAS_MCP_EVERYTHING="$$dir" CGO_ENABLED=0 $(GO) test -tags npm -run Everything -count=1 ./commands/tools/mcp

bench: ## speeds as ratios to a yardstick measured in the same run
	$(GO) test -run '^$$' -bench . ./events/... ./projections/... ./web/... ./commands/...
	$(GO) test -run '^$$' -bench . -benchtime 1x ./cmd/...

torture: build ## kill -9 the real server in mid-reply; LEMBAS_TORTURE=N cycles, ten times as many crash images of the log, five times as many kills and races around consents
	LEMBAS_TORTURE=$$((10 * $${LEMBAS_TORTURE:-200})) $(GO) test -count 1 -timeout 60m -run 'Torture|Crash|Flip' ./events/store
	LEMBAS_TORTURE=$${LEMBAS_TORTURE:-200} $(GO) test -count 1 -timeout 60m -run Torture ./cmd/lembas
	LEMBAS_TORTURE=$$((5 * $${LEMBAS_TORTURE:-200})) $(GO) test -count 1 -timeout 60m -run 'KillsAroundAConsent|TwoTabs|StopAgainstAllow|ACallThatIsCut' ./cmd/lembas

check: fmt vet staticcheck vuln vendor-check ## everything that reads and does not run

fmt:
	@out=$$(gofmt -l cmd commands events projections ssh web); if [ -n "$$out" ]; then echo "not gofmt'd:"; echo "$$out"; exit 1; fi

vet:
	$(GO) vet ./...

staticcheck:
	$(GO) run $(STATICCHECK) ./...

vuln: ## says "not checked" where the vulnerability database cannot be had
	@sh .ci/vuln '$(GO)' '$(GOVULNCHECK)'

vendor-check: ## the vendored scripts are what their lock file says
	$(GO) test -count 1 -run Vendor ./web/static

screens: build deps ## screenshots of every page into screens/
	LEMBAS_SCREENS=$(CURDIR)/screens $(GO) test -count 1 -run Screens ./cmd/lembas
	@ls screens | wc -l | xargs echo screenshots:

corpus: ## does testdata differ from a copy of the corpora given as FROM=DIR
	@diff -rq $(FROM)/corpus testdata/corpus && diff -rq $(FROM)/cases testdata/cases && echo same

size: ## the longest functions and files
	@find cmd commands events projections ssh web -name '*.go' ! -name '*_test.go' | xargs wc -l | sort -n | tail -12

clean:
	rm -rf bin screens
