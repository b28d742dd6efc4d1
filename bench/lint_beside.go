package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"time"
)

// The corpus and the other linters, as scripts/lint_beside.sh and scripts/ruff.sh install them.
const (
	lintCorpus = ".cache/lint-corpus/timm-1.0.11"
	torchfix   = ".cache/torchfix/bin/torchfix"
	ruff       = ".cache/ruff/bin/ruff"
)

// linter is a command that lints the folder it is started in, and how to count what it prints.
type linter struct {
	name    string
	command []string
	count   func(output []byte) (map[string]int, error)
}

// benchLint lints the same files with stepline, TorchFix and ruff: the median time of whole runs, and the findings by rule. ruff has
// no rules on torch; its row says what reading the files costs a fast general linter.
func benchLint(stepline string, runs int) error {
	if _, err := os.Stat(lintCorpus); errors.Is(err, fs.ErrNotExist) {
		row("lint beside TorchFix and ruff", "left out: scripts/lint_beside.sh has not run")
		return nil
	}
	folder, err := os.MkdirTemp("", "stepline-bench-") // outside the checkout: stepline passes over what .gitignore names
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	if err := os.CopyFS(folder, os.DirFS(lintCorpus)); err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(folder, "timm", "models")); err != nil { // TorchFix takes minutes for them
		return err
	}
	lines, err := pythonLines(folder)
	if err != nil {
		return err
	}
	linters := []linter{
		{"stepline check", []string{stepline, "check", "--format", "json", "--exit-zero", "--no-cache", "."}, countJSON},
		{"torchfix --select ALL", []string{absolute(torchfix), "--select", "ALL", "."}, countLines},
		{"ruff check", []string{absolute(ruff), "check", "--isolated", "--no-cache", "--exit-zero", "--output-format", "concise", "."}, countLines},
	}
	for _, l := range linters {
		what := fmt.Sprintf("`%s` on %s without its models (%d lines)", l.name, filepath.Base(lintCorpus), lines)
		if _, err := os.Stat(l.command[0]); err != nil {
			row(what, "left out: not installed")
			continue
		}
		took, found, err := runLinter(l, folder, runs)
		if err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
		row(what, "%.2f s, %.0f lines a second; %s", took.Seconds(), float64(lines)/took.Seconds(), listed(found))
	}
	return nil
}

func absolute(path string) string {
	full, err := filepath.Abs(path)
	if err != nil {
		return path // the working folder is gone; starting the program says so
	}
	return full
}

// runLinter is the median time of several runs in a folder, and what the last one found.
func runLinter(l linter, folder string, runs int) (time.Duration, map[string]int, error) {
	times := make([]time.Duration, 0, runs)
	var output bytes.Buffer
	for range runs {
		output.Reset()
		cmd := exec.Command(l.command[0], l.command[1:]...)
		cmd.Dir, cmd.Stdout = folder, &output
		started := time.Now()
		err := cmd.Run()
		times = append(times, time.Since(started))
		var exit *exec.ExitError
		if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 1) { // 1: findings
			return 0, nil, err
		}
	}
	found, err := l.count(output.Bytes())
	return quantile(times, 0.5), found, err
}

func countJSON(output []byte) (map[string]int, error) {
	var result struct {
		Findings []struct{ Rule string }
	}
	if err := json.Unmarshal(output, &result); err != nil {
		return nil, err
	}
	found := map[string]int{}
	for _, f := range result.Findings {
		found[f.Rule]++
	}
	return found, nil
}

// findingLine is `file.py:12:3: TOR001 message`, as flake8, TorchFix and ruff print it.
var findingLine = regexp.MustCompile(`(?m)^[^\n:]+:\d+:\d+:? ([A-Z]+\d+)\b`)

func countLines(output []byte) (map[string]int, error) {
	found := map[string]int{}
	for _, m := range findingLine.FindAllSubmatch(output, -1) {
		found[string(m[1])]++
	}
	return found, nil
}

// listed is the findings by rule, the most frequent first.
func listed(found map[string]int) string {
	names := make([]string, 0, len(found))
	total := 0
	for name, n := range found {
		names, total = append(names, name), total+n
	}
	sort.Slice(names, func(i, j int) bool {
		if found[names[i]] != found[names[j]] {
			return found[names[i]] > found[names[j]]
		}
		return names[i] < names[j]
	})
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %d", name, found[name])
	}
	return fmt.Sprintf("%d findings: %s", total, strings.Join(names, ", "))
}

func pythonLines(root string) (int, error) {
	lines := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".py" {
			return err
		}
		text, err := os.ReadFile(path)
		lines += bytes.Count(text, []byte("\n"))
		return err
	})
	return lines, err
}
