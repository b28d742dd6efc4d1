package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"stepline/report"
)

// Exit codes of the contract.
const (
	exitFine        = 0
	exitFindings    = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// streams are a command's input and outputs; files where they are the process's own, anything in tests.
type streams struct {
	in       io.Reader
	out, err io.Writer
	// environment looks a variable up (os.Getenv).
	environment func(string) string
	// letChildDecide leaves interrupts to a program that a command runs; nil where nothing listens to them.
	letChildDecide func()
}

func main() {
	ctx := context.Background()
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-interrupts
		time.AfterFunc(flushTime, func() { os.Exit(exitInterrupted) }) // standard error may be a pipe that nobody reads
		fmt.Fprintln(os.Stderr)
		os.Exit(exitInterrupted) // at once: nothing half-written is left, files are replaced by renaming
	}()
	os.Exit(run(ctx, streams{
		in: os.Stdin, out: os.Stdout, err: os.Stderr, environment: os.Getenv,
		letChildDecide: func() { signal.Stop(interrupts) },
	}, os.Args[1:]))
}

// exitError carries an exit code other than the default 2. A nil cause prints nothing: the output said it all.
type exitError struct {
	code  int
	cause error
}

func (e *exitError) Error() string {
	if e.cause == nil {
		return ""
	}
	return e.cause.Error()
}

func (e *exitError) Unwrap() error { return e.cause }

// run executes one command line and returns the exit code. Errors become one line on standard error.
func run(ctx context.Context, io streams, arguments []string) (code int) {
	defer func() {
		if trouble := recover(); trouble != nil { // a mistake of ours; the user gets one line, the place with STEPLINE_DEBUG set
			fmt.Fprintf(io.err, "stepline: internal error: %s; please report it with the input that caused it\n", report.Printable(fmt.Sprint(trouble)))
			if io.environment("STEPLINE_DEBUG") != "" {
				fmt.Fprintln(io.err, string(debug.Stack()))
			}
			code = exitUsage
		}
	}()
	root := newRootCommand(io)
	root.SetArgs(arguments)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitFine
	}
	code = exitUsage
	var exit *exitError
	if errors.As(err, &exit) {
		code = exit.code
	}
	if errors.Is(err, context.Canceled) {
		return exitInterrupted
	}
	if readerGone(err) { // not ours to complain about
		return code
	}
	for _, line := range errorLines(err) {
		fmt.Fprintln(io.err, "stepline: "+line)
	}
	return code
}

// errorLines is one line per joined error, control characters made visible.
func errorLines(err error) []string {
	text := strings.TrimSpace(err.Error())
	if text == "" {
		return nil
	}
	var lines []string
	for line := range strings.SplitSeq(text, "\n") { // joined errors are one a line
		lines = append(lines, report.Printable(line))
	}
	return lines
}

func newRootCommand(io streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "stepline",
		Short: "What each line of PyTorch training code costs on the GPU",
		Long: `stepline reads a profiler trace and the source that ran, and puts every microsecond of GPU time on the line that
launched it. It lints training code, prices each finding with the trace, and serves the same to editors.

Exit codes: 0 fine, 1 findings or a failed gate, 2 wrong usage or nothing usable, 130 interrupted.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(cmd *cobra.Command, arguments []string) error {
			if len(arguments) > 0 {
				return unknownCommand(cmd, arguments[0])
			}
			return nil
		},
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		Version: steplineVersion(),
	}
	root.SetVersionTemplate(versionLine())
	root.SetIn(io.in)
	root.SetOut(io.out)
	root.SetErr(io.err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w; `%s --help` lists the options", plainFlagError(err), cmd.CommandPath())
	})
	root.PersistentFlags().String("color", "auto", "colour the output: auto, always or never (NO_COLOR is honoured)")
	root.AddCommand(
		newLSPCommand(io),
		newCheckCommand(io),
		newLinesCommand(io),
		newReportCommand(io),
		newDiffCommand(io),
		newIndexCommand(io),
		newRecordCommand(io),
		newVerifyCommand(io),
		newRulesCommand(io),
		newExplainCommand(io),
		newTemplatesCommand(io),
		newTemplateCommand(io),
		newCacheCommand(io),
		newCompletionCommand(io),
		newManCommand(io),
		newVersionCommand(io),
	)
	refuseUnknownHelp(root)
	completeValues(root)
	return root
}

// unknownCommand tells of a word that is none of a command's own commands.
func unknownCommand(cmd *cobra.Command, word string) error {
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(word); len(near) > 0 {
		return usageError("unknown command %q; did you mean `%s %s`?", word, cmd.CommandPath(), near[0])
	}
	return usageError("unknown command %q; `%s --help` lists the commands", word, cmd.CommandPath())
}

// findCommand is the command that words name below the root, such as ["cache", "list"].
func findCommand(root *cobra.Command, words []string) (*cobra.Command, error) {
	found, rest, _ := root.Find(words) // its error says no more than that a word is left
	switch {
	case len(rest) == 0:
		return found, nil
	case found.HasSubCommands():
		return nil, unknownCommand(found, rest[0])
	default:
		return nil, usageError("`%s` has no command %q; `%s --help` says what it takes", found.CommandPath(), rest[0], found.CommandPath())
	}
}

// refuseUnknownHelp has `stepline help WORD` fail as any other wrong usage does; cobra's own prints the usage and is content.
func refuseUnknownHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	help, err := findCommand(root, []string{"help"})
	if err != nil {
		panic(err) // it was just added
	}
	help.RunE = func(_ *cobra.Command, words []string) error {
		about, err := findCommand(root, words)
		if err != nil {
			return err
		}
		about.InitDefaultHelpFlag() // as cobra does, so that the page lists them
		about.InitDefaultVersionFlag()
		return about.Help()
	}
}

// plainFlagError says what a value should be instead of how Go failed to read it.
func plainFlagError(err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	flag := invalid.GetFlag()
	switch flag.Value.Type() {
	case "int", "int64":
		return fmt.Errorf("--%s %s: use a whole number", flag.Name, invalid.GetValue())
	case "duration":
		return fmt.Errorf("--%s %s: use a time with its unit, such as 5ms or 30s", flag.Name, invalid.GetValue())
	}
	return err
}

// usageError is wrong usage of a command: the message says what to do instead.
func usageError(format string, arguments ...any) error {
	return &exitError{code: exitUsage, cause: fmt.Errorf(format, arguments...)}
}
