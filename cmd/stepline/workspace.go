package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"stepline/analysis"
	"stepline/report"
	"stepline/traceindex"
)

// openWorkspace opens a folder under its settings file, changed by the command's flags. Settings that cannot be used are
// errors: a gate must not pass because a rule's name was misspelt.
func openWorkspace(ctx context.Context, _ streams, root string, change func(*analysis.Settings)) (*analysis.Workspace, error) {
	if info, err := os.Stat(root); err == nil && !info.IsDir() {
		return nil, usageError("--root %s: not a folder", root)
	}
	layer, err := analysis.LoadSettingsFile(root)
	if err != nil {
		return nil, err
	}
	settings, err := analysis.Merge(layer)
	if err != nil {
		return nil, err
	}
	if err := layer.CheckRules(settings); err != nil {
		return nil, err
	}
	if change != nil {
		change(&settings)
	}
	return analysis.Open(ctx, root, settings)
}

// readAllText reads UTF-8 text to its end.
func readAllText(r io.Reader) (string, error) {
	data, err := io.ReadAll(io.LimitReader(r, analysis.MaxSourceBytes+1))
	switch {
	case err != nil:
		return "", err
	case len(data) > analysis.MaxSourceBytes:
		return "", fmt.Errorf("more than %d bytes", analysis.MaxSourceBytes)
	case !utf8.Valid(data):
		return "", errors.New("not UTF-8 text")
	case bytes.IndexByte(data, 0) >= 0:
		return "", errors.New("binary data, not Python source")
	}
	return string(data), nil
}

// printWarnings puts warnings on standard error, one a line.
func printWarnings(io streams, warnings []traceindex.Warning) {
	for _, warning := range warnings {
		text := warning.Message
		if warning.File != "" && !strings.Contains(text, warning.File) {
			text = warning.File + ": " + text
		}
		fmt.Fprintln(io.err, "stepline: warning: "+report.Printable(strings.ReplaceAll(text, "\n", " ")))
	}
}
