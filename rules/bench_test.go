package rules_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stepline/pyscan"
	"stepline/rules"
	"stepline/rules/catalog"
)

// BenchmarkProject lints the Python files of the folder named by STEPLINE_CORPUS as one project, once per iteration.
func BenchmarkProject(b *testing.B) {
	root := os.Getenv("STEPLINE_CORPUS")
	if root == "" {
		b.Skip("STEPLINE_CORPUS names no folder")
	}
	var files []*pyscan.File
	lines := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".py") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		files = append(files, pyscan.Parse(filepath.ToSlash(rel), string(text)))
		lines += strings.Count(string(text), "\n")
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		project := rules.NewProject(files)
		for _, f := range files {
			rules.Run(catalog.All(), rules.Target{File: f, Project: project}, rules.Config{})
		}
	}
	b.ReportMetric(float64(lines)*float64(b.N)/b.Elapsed().Seconds(), "lines/s")
}

// BenchmarkKeystroke lints one file anew in a project of one, as an editor does after a change (parsing aside). The file is the
// one named by STEPLINE_FILE, or 5,000 lines of the shipped scripts.
func BenchmarkKeystroke(b *testing.B) {
	path := os.Getenv("STEPLINE_FILE")
	var text string
	if path != "" {
		data, err := os.ReadFile(path)
		if err != nil {
			b.Fatal(err)
		}
		text = string(data)
	} else {
		data, err := os.ReadFile("../testdata/traces/gpt/gpt.py")
		if err != nil {
			b.Fatal(err)
		}
		for strings.Count(text, "\n") < 5000 {
			text += string(data)
		}
	}
	project := rules.NewProject([]*pyscan.File{pyscan.Parse("train.py", text)})
	var cpu time.Duration // the timer measures the machine's load too
	for b.Loop() {
		b.StopTimer()
		file := pyscan.Parse("train.py", text)
		before := processTime()
		b.StartTimer()
		rules.Run(catalog.All(), rules.Target{File: file, Project: project.With(file)}, rules.Config{})
		cpu += processTime() - before
	}
	b.ReportMetric(float64(cpu.Nanoseconds())/1e6/float64(b.N), "cpu-ms/op")
	b.ReportMetric(float64(strings.Count(text, "\n")), "lines")
}
