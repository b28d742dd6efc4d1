package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"stepline/analysis"
	"stepline/report"
	"stepline/traceindex/load"
)

func newCacheCommand(io streams) *cobra.Command {
	list := func(cmd *cobra.Command, _ []string) error {
		folder, err := load.CacheDir()
		if err != nil {
			return err
		}
		entries, err := load.CacheEntries()
		if err != nil {
			return err
		}
		style, err := io.style(cmd)
		if err != nil {
			return err
		}
		rows := make([]report.CacheRow, len(entries))
		for i, entry := range entries {
			rows[i] = report.CacheRow{Input: entry.Input, Bytes: entry.Bytes, Used: entry.Used}
		}
		return report.WriteCacheText(io.out, folder, rows, style)
	}
	cmd := &cobra.Command{
		Use:   "cache",
		Short: "List or clear the indexes kept of traces read before",
		Long: `A trace that was read once is kept as an index in the user's cache folder, so that it opens in a moment the next time.
An index whose trace has changed is made anew by itself; clearing loses nothing but time. The findings of the last checks of
large workspaces are kept there too, under a hash of all they rest on.`,
		Args: noArguments,
		RunE: list,
	}
	cmd.AddCommand(
		&cobra.Command{Use: "list", Short: "List the indexes, the last used first", Args: noArguments, RunE: list},
		&cobra.Command{Use: "clear", Short: "Remove all indexes", Args: noArguments, RunE: func(*cobra.Command, []string) error {
			indexes, bytes, err := load.ClearCache()
			if err != nil {
				return err
			}
			checks, checkBytes, err := analysis.ForgetChecks()
			if err != nil {
				return err
			}
			kept := ""
			if checks > 0 {
				kept = " and the findings of " + report.Plural(checks, "check")
			}
			_, err = fmt.Fprintf(io.out, "removed %s%s, %s\n", indexCount(indexes), kept, report.Bytes(bytes+checkBytes))
			return err
		}},
	)
	return cmd
}

func indexCount(n int) string {
	if n == 1 {
		return "1 index"
	}
	return fmt.Sprintf("%d indexes", n)
}

// noArguments refuses arguments with what was wrong about them.
func noArguments(cmd *cobra.Command, arguments []string) error {
	if len(arguments) > 0 {
		return usageError("%s takes no argument %q; `%s --help` says what there is", cmd.CommandPath(), arguments[0], cmd.CommandPath())
	}
	return nil
}
