package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"stepline/pyscan"
)

func main() {
	stepline := flag.String("stepline", "bin/stepline", "the program to measure")
	runs := flag.Int("runs", 3, "runs of each large measurement")
	keystrokes := flag.Int("keystrokes", 2000, "keystrokes of the editing session")
	only := flag.String("only", "", "measure only this: trace, lint, parse or session")
	flag.Parse()
	if err := bench(*stepline, *only, *runs, *keystrokes); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func bench(stepline, only string, runs, keystrokes int) error {
	stepline, err := filepath.Abs(stepline)
	if err != nil {
		return err
	}
	wanted := func(what string) bool { return only == "" || only == what }
	fmt.Println("| what | measured |\n| --- | --- |")
	if wanted("trace") {
		if err := benchLargeTrace(stepline, runs); err != nil {
			return fmt.Errorf("large trace: %w", err)
		}
	}
	if wanted("lint") {
		if err := benchLint(stepline, runs); err != nil {
			return fmt.Errorf("lint: %w", err)
		}
	}
	source, err := longSource(5000)
	if err != nil {
		return err
	}
	if wanted("parse") {
		benchParse(source)
	}
	if !wanted("session") {
		return nil
	}
	trace, err := largeTrace()
	if err != nil {
		return err
	}
	if err := benchSession(stepline, source, trace, keystrokes); err != nil {
		return fmt.Errorf("session: %w", err)
	}
	return nil
}

func row(what, format string, arguments ...any) {
	fmt.Printf("| %s | %s |\n", what, fmt.Sprintf(format, arguments...))
}

// longSource is gpt.py, then copies of it under other names, until it has the lines.
func longSource(lines int) (string, error) {
	one, err := os.ReadFile("testdata/traces/gpt/gpt.py")
	if err != nil {
		return "", err
	}
	var text strings.Builder
	text.Write(one)
	for i := 0; strings.Count(text.String(), "\n") < lines; i++ {
		text.WriteString(named(string(one), i))
	}
	kept := strings.SplitAfterN(text.String(), "\n", lines+1)
	return strings.Join(kept[:lines], ""), nil
}

func benchParse(source string) {
	times := make([]time.Duration, 0, 50)
	for range cap(times) {
		started := time.Now()
		file := pyscan.Parse("long.py", source)
		times = append(times, time.Since(started))
		if len(file.Functions) < 100 {
			fmt.Fprintln(os.Stderr, "bench: the parse found too few functions to be right:", len(file.Functions))
		}
	}
	row("parse of 5,000 lines of Python", "%.2f ms", milliseconds(quantile(times, 0.5)))
}

func quantile(times []time.Duration, q float64) time.Duration {
	sorted := slices.Clone(times)
	slices.Sort(sorted)
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
