package rules_test

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"stepline/pyscan"
	"stepline/rules"
	"stepline/rules/catalog"
)

// corpusProject parses the Python files of the folder named by STEPLINE_CORPUS, or makes a project of 700 copies of the shipped
// script under other names.
func corpusProject(b *testing.B) []*pyscan.File {
	if root := os.Getenv("STEPLINE_CORPUS"); root != "" {
		return filesBelow(b, root)
	}
	var files []*pyscan.File
	for i := range 700 {
		files = append(files, pyscan.Parse(fmt.Sprintf("pkg/m%d/f%d.py", i%20, i), renamed(b, i)))
	}
	return files
}

// BenchmarkPull does what a pull of the whole workspace costs after a keystroke in one of its files: which results still hold,
// and the others found anew. Each iteration edits another file.
func BenchmarkPull(b *testing.B) {
	files := corpusProject(b)
	project := rules.NewProject(files)
	run := func(f *pyscan.File) rules.Result {
		return rules.Run(catalog.All(), rules.Target{File: f, Project: project}, rules.Config{})
	}
	results := make([]rules.Result, len(files))
	began, beganCPU := time.Now(), processTime()
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, f := range files {
		group.Go(func() error {
			results[i] = run(f)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		b.Fatal(err)
	}
	first, firstCPU := time.Since(began), processTime()-beganCPU
	known := map[string]rules.Result{}
	for i, f := range files {
		known[f.Path] = results[i]
	}
	anew, at := 0, 0
	var cpu, checking time.Duration
	for b.Loop() {
		at = (at + 211) % len(files)
		text := files[at].Text
		mid := strings.LastIndexByte(text[:len(text)/2], '\n') + 1
		files[at] = pyscan.Parse(files[at].Path, text[:mid]+"# x\n"+text[mid:])
		before := processTime()
		project = project.With(files[at])
		var again []*pyscan.File
		for i, f := range files {
			if i != at && !known[f.Path].Depends.Holds(project) {
				again = append(again, f)
			}
		}
		checking += processTime() - before
		known[files[at].Path] = run(files[at])
		for _, f := range again {
			known[f.Path] = run(f)
		}
		if os.Getenv("STEPLINE_VERBOSE") != "" {
			b.Logf("%s: %d", files[at].Path, len(again))
		}
		anew += len(again)
		cpu += processTime() - before
	}
	b.ReportMetric(float64(first.Milliseconds()), "first-ms")
	b.ReportMetric(float64(firstCPU.Milliseconds()), "first-cpu-ms")
	b.ReportMetric(float64(cpu.Nanoseconds())/1e6/float64(b.N), "cpu-ms/op")
	b.ReportMetric(float64(checking.Nanoseconds())/1e6/float64(b.N), "check-ms/op")
	b.ReportMetric(float64(anew)/float64(b.N), "files-anew/op")
	b.ReportMetric(float64(len(files)), "files")
}
