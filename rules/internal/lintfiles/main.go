// Command lintfiles prints the findings of Python files or folders, linted as one project: a bare view for those who write
// rules. `stepline check` is the product's command.
package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"stepline/pyscan"
	"stepline/rules"
	"stepline/rules/catalog"
)

func main() {
	var files []*pyscan.File
	lines := 0
	for _, root := range os.Args[1:] {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".py") {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if len(text) > 1<<20 {
				return nil
			}
			rel, err := filepath.Rel(root, path)
			if err != nil || rel == "." {
				rel = filepath.Base(path)
			}
			files = append(files, pyscan.Parse(filepath.ToSlash(rel), string(text)))
			lines += strings.Count(string(text), "\n")
			return nil
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, "lintfiles:", err)
			os.Exit(1)
		}
	}
	started := time.Now()
	project := rules.NewProject(files)
	var config rules.Config
	if s := os.Getenv("SELECT"); s != "" {
		config.Select = strings.Split(s, ",")
	}
	count := map[string]int{}
	for _, f := range files {
		for _, found := range rules.Run(catalog.All(), rules.Target{File: f, Project: project}, config).Findings {
			fmt.Printf("%s:%d: %s %s: %s\n", f.Path, f.Lines().Line(found.Span.Start), found.Rule.ID, found.Severity, found.Message)
			count[found.Rule.ID]++
		}
	}
	fmt.Fprintln(os.Stderr, len(files), "files,", lines, "lines,", time.Since(started), count)
}
