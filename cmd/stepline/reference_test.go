package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

var updateReference = flag.Bool("update-reference", false, "write docs/cli.md from the commands' help")

// TestReferenceIsTheHelp holds docs/cli.md against what the commands say of themselves; -update-reference writes it.
func TestReferenceIsTheHelp(t *testing.T) {
	name := filepath.Join(repository, "docs", "cli.md")
	want := commandReference(newRootCommand(streams{environment: func(string) string { return "" }}))
	if *updateReference {
		if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(got), want); diff != "" {
		t.Errorf("docs/cli.md is stale (−file +help); run go test ./cmd/stepline -run Reference -update-reference\n%s", diff)
	}
}

// commandReference is the help of all commands as Markdown.
func commandReference(root *cobra.Command) string {
	var out strings.Builder
	fmt.Fprintf(&out, "<!-- Generated from the commands' help by cmd/stepline/reference_test.go; do not edit. -->\n\n# The command line\n\n%s\n", root.Long)
	fmt.Fprintf(&out, "\nEvery command knows `--help` and `--color auto|always|never`.\n")
	for _, c := range root.Commands() {
		writeReference(&out, c, 2)
	}
	return out.String()
}

func writeReference(out *strings.Builder, c *cobra.Command, level int) {
	if c.Hidden || c.Name() == "help" {
		return
	}
	fmt.Fprintf(out, "\n%s %s\n\n%s.\n\n```text\n%s\n```\n", strings.Repeat("#", level), c.CommandPath(), strings.TrimSuffix(c.Short, "."), c.UseLine())
	if c.Long != "" {
		fmt.Fprintf(out, "\n%s\n", c.Long)
	}
	if c.Example != "" {
		var lines []string
		for line := range strings.SplitSeq(c.Example, "\n") {
			lines = append(lines, strings.TrimPrefix(line, "  "))
		}
		fmt.Fprintf(out, "\n```sh\n%s\n```\n", strings.Join(lines, "\n"))
	}
	if flags := c.LocalNonPersistentFlags().FlagUsages(); flags != "" {
		fmt.Fprintf(out, "\n```text\n%s```\n", flags)
	}
	for _, sub := range c.Commands() {
		writeReference(out, sub, level+1)
	}
}
