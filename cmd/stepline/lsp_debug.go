package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"stepline/lsp"
)

// lspDebug are the flags of `stepline lsp` that help to find out what a session does.
type lspDebug struct {
	pprof, record, replay string
	recordTexts           bool
}

func (d *lspDebug) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&d.pprof, "pprof", "", "serve Go's profiler pages on this loopback address, such as 127.0.0.1:6060")
	f.StringVar(&d.record, "record", "", "write what the client sends to this file, one JSON object a line, documents' letters blanked")
	f.BoolVar(&d.recordTexts, "record-texts", false, "with --record: keep the documents' texts")
	f.StringVar(&d.replay, "replay", "", "replay a session that --record wrote, and print how long the answers took")
}

// options adds what the flags ask for; close is to be called at the session's end.
func (d *lspDebug) options(o *lsp.Options) (close func() error, err error) {
	o.Pprof, o.RecordTexts = d.pprof, d.recordTexts
	if d.record == "" {
		return func() error { return nil }, nil
	}
	file, err := os.OpenFile(d.record, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("--record: %w", err)
	}
	o.Record = file
	return file.Close, nil
}

// runReplay replays a session and prints a table of its answer times.
func (d *lspDebug) runReplay(ctx context.Context, io streams, o lsp.Options) error {
	file, err := os.Open(d.replay)
	if err != nil {
		return usageError("--replay: %v", err)
	}
	defer file.Close()
	results, err := lsp.Replay(ctx, file, o)
	if err != nil {
		return fmt.Errorf("--replay %s: %w", d.replay, err)
	}
	fmt.Fprintf(io.out, "%-40s %7s %10s %10s %10s\n", "method", "count", "p50", "p95", "max")
	for _, r := range results {
		fmt.Fprintf(io.out, "%-40s %7d %10s %10s %10s\n", r.Method, r.Count, r.P50.Round(time.Microsecond), r.P95.Round(time.Microsecond), r.Max.Round(time.Microsecond))
	}
	return nil
}
