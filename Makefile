# stepline: `make demo` builds it and shows it at work on a real trace; `make test` runs the tests.
# scripts/setup.sh installs what is missing (Go) and answers with the folder of `go`.

GO_FOLDER := $(shell ./scripts/setup.sh | tail -n 1)
ifeq ($(GO_FOLDER),)
$(error no usable Go; see the message above)
endif
GO := $(GO_FOLDER)/go
GOFLAGS ?= -buildvcs=false
export GOFLAGS
export PATH := $(GO_FOLDER):$(PATH)

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
FUZZTIME ?= 10s

# Packages whose job is concurrency are tested under the race detector; it makes everything ten times slower.
RACE_PACKAGES := ./lsp/... ./analysis/...

.PHONY: demo build install release test soak test-release test-monitoring test-editors fuzz bench vet vsix site test-ranks clean

build: bin/stepline

# Go itself knows what is stale, so the target is always tried.
.PHONY: bin/stepline
bin/stepline:
	@$(GO) build -o $@ -ldflags "-X main.version=$(VERSION)" ./cmd/stepline

demo: build
	@cd testdata/traces/gpt && ../../../bin/stepline check --trace trace.json.gz --exit-zero gpt.py
	@echo
	@cd testdata/traces/gpt && ../../../bin/stepline lines trace.json.gz

install: build
	@install -d "$${PREFIX:-$$HOME/.local}/bin"
	@install -m 755 bin/stepline "$${PREFIX:-$$HOME/.local}/bin/stepline"
	@echo "installed $${PREFIX:-$$HOME/.local}/bin/stepline"

# Archives, Python wheels, bills of materials, VS Code extensions and checksums for every platform: dist/.
release:
	@VERSION="$(VERSION)" ./scripts/release.sh

vet:
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo "gofmt would change:"; gofmt -l $$(git ls-files '*.go'); exit 1; }
	@$(GO) vet ./...

test:
	@./scripts/test.sh "$(RACE_PACKAGES)"

test-editors: build
	@status=0; for editor in neovim helix emacs vscode; do ./editors/$$editor/test/run.sh bin/stepline || status=1; done; exit $$status

# The VS Code extension as a file to install, with the server in it: dist/stepline-PLATFORM.vsix.
vsix:
	@VERSION="$(VERSION)" ./scripts/vscode-vsix.sh $(VSIX_TARGET)

# A long editing session through the language server (10,000 edits, 100 trace loads): memory stays flat, no goroutine is left.
soak:
	@STEPLINE_SOAK=1 $(GO) test -count=1 -timeout 9m -run '^TestSoak$$' ./lsp

# A release of this platform, installed and used as people do.
test-release:
	@STEPLINE_RELEASE=1 $(GO) test -count=1 -timeout 15m -run 'TestRelease|TestGoInstall' ./packaging

# Alert rules by promtool; a real Prometheus answers the dashboard's queries.
test-monitoring: build
	@./scripts/test-monitoring.sh bin/stepline

fuzz:
	@./scripts/fuzz.sh "$(FUZZTIME)"

# BIG_TRACE=FILE measures with a trace of your own. Without Python's venv the comparison with ruff's server is left out.
bench: build
	@./scripts/ruff.sh >/dev/null || echo "bench: ruff could not be installed and is left out" >&2
	@./scripts/lint_beside.sh >/dev/null || echo "bench: TorchFix could not be installed and is left out" >&2
	@$(GO) run ./bench -stepline bin/stepline
	@$(GO) run ./bench/ranks -stepline bin/stepline

# The documentation as static pages: dist/site/index.html.
site:
	@$(GO) run ./docs/site

# The SQL files and the Spark job for runs of many ranks, held against stepline's report (DuckDB and Spark from PyPI, Java).
test-ranks: build
	@./scripts/ranks-test.sh bin/stepline

clean:
	@rm -rf bin dist .cache
