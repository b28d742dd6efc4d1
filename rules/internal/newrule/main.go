// Command newrule scaffolds a rule: `go run ./rules/internal/newrule DAT011 my-rule-name` makes rules/dat011 with the Go
// file, the page and the fixture, and lists it in the catalog, whose test runs the fixture.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"stepline/rules"
	"stepline/rules/internal/registry"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: go run ./rules/internal/newrule DAT011 rule-name")
		os.Exit(2)
	}
	if err := scaffold(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "newrule:", err)
		os.Exit(1)
	}
}

var (
	validID   = regexp.MustCompile(`^[A-Z]{3}[0-9]{3}$`)
	validName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
)

func scaffold(id, name string) error {
	if !validID.MatchString(id) || !slices.Contains(rules.Families(), id[:3]) {
		return fmt.Errorf("%q is no rule id: write a family (%s) and three digits", id, strings.Join(rules.Families(), ", "))
	}
	if !validName.MatchString(name) {
		return fmt.Errorf("%q is no rule name: write lower-case words joined by hyphens", name)
	}
	root, err := registry.Root()
	if err != nil {
		return err
	}
	dir := filepath.Join(root, "rules", strings.ToLower(id))
	if _, err := os.Stat(dir); err == nil {
		return fmt.Errorf("%s exists already", dir)
	}
	if err := os.MkdirAll(filepath.Join(dir, "testdata"), 0o755); err != nil {
		return err
	}
	pkg := strings.ToLower(id)
	fill := strings.NewReplacer("PKG", pkg, "ID", id, "NAME", name)
	files := map[string]string{
		pkg + ".go":               ruleTemplate,
		"doc.md":                  pageTemplate,
		"testdata/" + pkg + ".py": fixtureTemplate,
	}
	for file, text := range files {
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(file)), []byte(fill.Replace(text)), 0o644); err != nil {
			return err
		}
	}
	if err := registry.WriteCatalog(root); err != nil {
		return err
	}
	fmt.Printf("made %s; write the page, the fixture and the check, then run `go generate ./rules/catalog`\n", dir)
	return nil
}

const ruleTemplate = `// Package PKG holds the rule ID NAME.
package PKG

import (
	_ "embed"

	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is ID.
var Rule = &rules.Rule{
	ID:       "ID",
	Name:     "NAME",
	Summary:  "one plain sentence without a full stop",
	Severity: rules.Warning,
	Fix:      rules.NoFix,
	NeedsGPU: true,
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	for _, at := range p.Tree.Calls {
		_ = at // report with p.Report(at, rules.Finding{…}, guards…)
	}
}
`

const pageTemplate = `# ID NAME

## What it does

## Why it costs

## Example
` + "```python\n```" + `

## Instead
` + "```python\n```" + `

## When it stays silent

## Fix safety

## What a trace shows

## References
`

const fixtureTemplate = `# Lines that must be reported end in "# want" (with optional text the message must hold, in quotes).
import torch
`
