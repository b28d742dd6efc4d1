package main

import (
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

func newManCommand(io streams) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "man [COMMAND]",
		Short: "Print the manual page of stepline or of one of its commands",
		Long: `Prints a manual page, made from the same descriptions as --help. With --output every page is written to a folder:
stepline.1, stepline-check.1 and so on. SOURCE_DATE_EPOCH sets the pages' date.`,
		Example: `  stepline man check | man -l -
  stepline man --output ~/.local/share/man/man1`,
		ValidArgsFunction: func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			var names []string
			for _, other := range cmd.Root().Commands() {
				if other.IsAvailableCommand() {
					names = append(names, other.Name()+"\t"+other.Short)
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, arguments []string) error {
			root := cmd.Root()
			root.DisableAutoGenTag = true // the line that says which program made a page; those below inherit it
			if output != "" {
				if len(arguments) > 0 {
					return usageError("--output writes every page; name no command with it")
				}
				if err := os.MkdirAll(output, 0o755); err != nil {
					return err
				}
				return doc.GenManTree(root, manHeader(io, ""), output)
			}
			page, err := findCommand(root, arguments)
			if err != nil {
				return err
			}
			return doc.GenMan(page, manHeader(io, strings.ToUpper(strings.ReplaceAll(page.CommandPath(), " ", "-"))), io.out)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "write every page into this folder, made where it is missing")
	return cmd
}

// manHeader is the frame of a page; without a title each page of a tree gets its own.
func manHeader(io streams, title string) *doc.GenManHeader {
	header := &doc.GenManHeader{Title: title, Section: "1", Source: "stepline " + steplineVersion(), Manual: "stepline"}
	date := time.Now()
	if seconds, err := strconv.ParseInt(io.environment("SOURCE_DATE_EPOCH"), 10, 64); err == nil {
		date = time.Unix(seconds, 0)
	}
	date = date.UTC()
	header.Date = &date
	return header
}
