package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"stepline/bench/process"
)

func main() {
	stepline := flag.String("stepline", "bin/stepline", "the program to measure")
	ranks := flag.Int("ranks", 1024, "ranks of the generated runs")
	runs := flag.Int("runs", 3, "runs of each measurement")
	python := flag.String("python", filepath.Join(".cache", "ranks-python", "bin", "python"), "a Python with duckdb; left out where there is none")
	flag.Parse()
	if err := bench(context.Background(), *stepline, *python, *ranks, *runs); err != nil {
		fmt.Fprintln(os.Stderr, "bench of many ranks:", err)
		os.Exit(1)
	}
}

func bench(ctx context.Context, stepline, python string, ranks, runs int) error {
	base, next, err := twoRuns(ctx, stepline, ranks)
	if err != nil {
		return err
	}
	measure := func(what string, command ...string) error {
		var list []process.Usage
		for range max(1, runs) {
			took, _, err := process.Run(exec.CommandContext(ctx, command[0], command[1:]...))
			if err != nil {
				return fmt.Errorf("%s: %w", what, err)
			}
			list = append(list, took)
		}
		took := process.Median(list)
		fmt.Printf("| %s, %d ranks | %.2f s, %.0f MB peak |\n", what, ranks, took.Wall.Seconds(), float64(took.PeakBytes)/1e6)
		return nil
	}
	if err := measure("`stepline report`", stepline, "report", base); err != nil {
		return err
	}
	if err := measure("`stepline report --format json`", stepline, "report", base, "--format", "json"); err != nil {
		return err
	}
	if err := measure("`stepline diff`", stepline, "diff", base, "--with", next); err != nil {
		return err
	}
	if exec.CommandContext(ctx, python, "-c", "import duckdb").Run() != nil {
		fmt.Fprintln(os.Stderr, "bench: no duckdb at", python, "(scripts/ranks-python.sh installs it): its rows are left out")
		return nil
	}
	script := `import duckdb, sys
db = duckdb.connect()
for name, folder in zip(("ranks", "base", "new"), (sys.argv[1], sys.argv[1], sys.argv[2])):
    db.execute(f"SET VARIABLE {name} = ?", [folder])
for file in sys.argv[3:]:
    rows = db.execute(open(file).read())
    if rows.description: rows.fetchall()`
	query := func(what string, files ...string) error {
		command := []string{python, "-c", script, base, next}
		for _, file := range files {
			command = append(command, filepath.Join("docs", "sql", file))
		}
		return measure("DuckDB, "+what, command...)
	}
	if err := query("ranks, shares, stragglers, idle, lines", "views.sql", "ranks.sql", "shares.sql", "stragglers.sql", "idle.sql", "lines.sql"); err != nil {
		return err
	}
	return query("the diff of lines", "diff.sql")
}
