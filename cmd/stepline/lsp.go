package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"stepline/lsp"
)

func newLSPCommand(io streams) *cobra.Command {
	var logFile, logLevel string
	var debug lspDebug
	cmd := &cobra.Command{
		Use:   "lsp",
		Short: "Run the language server on standard input and output",
		Long: `Runs the language server on standard input and output. Editors start it; the protocol is LSP 3.18.
It logs to standard error, or to a file with --log.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := newLog(logFile, logLevel)
			if err != nil {
				return err
			}
			defer func() { _ = log.Sync() }() // a log that cannot be flushed is no reason to fail
			collectAt(serverGCPercent)
			options := lsp.Options{Version: steplineVersion(), Log: log, WatchParent: true}
			bound, lift := serverBound()
			options.Loading, options.HugeText = spareThreads(lift), bound
			if debug.replay != "" {
				return debug.runReplay(cmd.Context(), io, options)
			}
			finish, err := debug.options(&options)
			if err != nil {
				return err
			}
			err = errors.Join(lsp.Serve(cmd.Context(), io.in, io.out, options), finish())
			if errors.Is(err, lsp.ErrExitWithoutShutdown) { // the protocol wants status 1 and no fuss
				return &exitError{code: exitFindings}
			}
			return err
		},
	}
	cmd.Flags().StringVar(&logFile, "log", "", "write the log to this file instead of standard error")
	debug.addFlags(cmd)
	cmd.Flags().StringVar(&logLevel, "log-level", "warn", "debug, info, warn or error")
	return cmd
}

// spareThreads lets Go use two threads more than there are cores while a trace loads. With all cores at work Go takes one away
// from its work only every 10 ms; the operating system lets a thread that has slept go first. Hovers while the 248 MB trace loads on
// two cores: 2 to 3 ms in the 95th percentile instead of 11 to 14.
//
// Opening an immense trace makes the process collect memory more often (load.Open); afterwards that would cost each keystroke as
// much again as its check, so the server goes back to its own pace.
//
// Both wait for a collection that is under way and then stop the whole program for a moment, which is long while all cores are at
// work: it is done beside, and after a load only once what the load leaves to do (the checks with the new trace) has had its time.
func spareThreads(liftBound func()) func(busy bool) {
	const restTime = time.Second
	usual := runtime.GOMAXPROCS(0)
	var loading atomic.Bool
	var applying sync.Mutex
	apply := func() { // what was said last
		applying.Lock()
		defer applying.Unlock()
		if loading.Load() {
			runtime.GOMAXPROCS(usual + 2)
			return
		}
		runtime.GOMAXPROCS(usual)
		collectAt(serverGCPercent)
	}
	return func(busy bool) {
		loading.Store(busy)
		if busy {
			liftBound()
			go apply()
			return
		}
		time.AfterFunc(restTime, apply)
	}
}

func newLog(file, level string) (*zap.Logger, error) {
	threshold, err := zapcore.ParseLevel(level)
	if err != nil {
		return nil, usageError("--log-level %s: use debug, info, warn or error", level)
	}
	var out zapcore.WriteSyncer
	if file != "" {
		opened, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, fmt.Errorf("--log: %w", err)
		}
		out = opened
	} else {
		out = newPatientLog(os.Stderr)
	}
	encoding := zap.NewProductionEncoderConfig()
	encoding.EncodeTime = zapcore.ISO8601TimeEncoder
	return zap.New(zapcore.NewCore(zapcore.NewConsoleEncoder(encoding), out, threshold)), nil
}
