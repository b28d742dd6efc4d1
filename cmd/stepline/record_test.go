package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"stepline/capture"
	"stepline/traceindex/recorder/recordertest"
)

// TestRecordTemplate records by a template, reads the capture of a watched run, and prints the Python API.
func TestRecordTemplate(t *testing.T) {
	python := recordertest.Python(t)
	loop := filepath.Join(repository, "traceindex", "recorder", "testdata", "loop.py")
	watched := filepath.Join(repository, "traceindex", "recorder", "testdata", "watched.py")
	t.Setenv("PYTHONDONTWRITEBYTECODE", "1")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	folder := t.TempDir()
	got := stepline(t, folder, "", nil, "record", "--template", "data-loading", "--set", "steps=2", "--set", "output=loader", "--warmup", "2", "--", python, loop, "6")
	if got.code != exitFine || !strings.Contains(got.errout, "steps 2 to 3") {
		t.Errorf("exit %d: %s", got.code, got.errout)
	}
	if _, err := os.Stat(filepath.Join(folder, "loader", "loop.trace.json.gz")); err != nil {
		t.Error(err)
	}
	plain := stepline(t, folder, "", nil, "record", "--template", "launch-bound", "--steps", "1", "--", python, loop, "6")
	if plain.code != exitFine || strings.Contains(plain.errout, "without Python frames") {
		t.Errorf("exit %d: %s", plain.code, plain.errout)
	}
	captured := stepline(t, folder, "", nil, "record", "--on-anomaly", "nan", "--output", "captures", "--root", filepath.Dir(watched), "--", python, watched, "50", "nan")
	if captured.code != exitFine || !strings.Contains(captured.errout, "the loss of step 40 is nan") {
		t.Fatalf("exit %d: %s", captured.code, captured.errout)
	}
	lines := stepline(t, folder, "", nil, "lines", "captures/step-0000042-nan", "--format", "json", "--root", filepath.Dir(watched))
	if document := fitsSchema(t, "lines", lines.out); lines.code != exitFine || len(document["lines"].([]any)) < 4 {
		t.Errorf("exit %d: %s%s", lines.code, lines.errout, lines.out)
	}
	if api := stepline(t, folder, "", nil, "record", "--python-api"); api.code != exitFine || !strings.Contains(api.out, "stepline.watch(") {
		t.Errorf("exit %d: %s", api.code, api.errout)
	}
}

// TestRecordUnderNsight: the tool named by a template is run where it is installed, and named where it is not.
func TestRecordUnderNsight(t *testing.T) {
	folder := t.TempDir()
	missing := stepline(t, folder, "", nil, "record", "--template", "nsight-systems", "--", "sh", "-c", "true")
	if missing.code != exitUsage {
		t.Errorf("exit %d", missing.code)
	}
	oneLine(t, missing.errout, "nsys, which is not on the PATH", "--capture-range=cudaProfilerApi", "stepline template nsight-systems")
	tools := t.TempDir()
	// Stands for the tool: shows how it was called and runs what comes after its options.
	const stand = "#!/bin/sh\necho \"called $0 $*\"\nshift\nwhile case $1 in --*) true;; *) false;; esac; do shift; done\nexec \"$@\"\n"
	if err := os.WriteFile(filepath.Join(tools, "nsys"), []byte(stand), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", tools+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	ran := stepline(t, folder, "", nil, "record", "--template", "nsight-systems", "--set", "output=deep", "--", "sh", "-c", "echo trained; exit 3")
	if ran.code != 3 || !strings.Contains(ran.out, "nsys profile --trace=cuda,nvtx") || !strings.Contains(ran.out, "--output=deep sh -c echo trained") || !strings.Contains(ran.out, "\ntrained\n") {
		t.Errorf("exit %d:\n%s%s", ran.code, ran.out, ran.errout)
	}
	python := recordertest.Python(t)
	loop := filepath.Join(repository, "traceindex", "recorder", "testdata", "loop.py")
	noGPU := stepline(t, folder, "", nil, "record", "--template", "nsight-systems", "--warmup", "2", "--", python, loop, "6")
	if noGPU.code != exitUsage || !strings.Contains(noGPU.errout, "needs a GPU") || !strings.Contains(noGPU.out, "profiling None") {
		t.Errorf("exit %d:\n%s%s", noGPU.code, noGPU.out, noGPU.errout)
	}
}

func TestRecordWrongUse(t *testing.T) {
	for _, test := range []struct {
		says      string
		arguments []string
	}{
		{"stepline templates", []string{"--set", "steps=1"}},
		{"there is no template", []string{"--template", "fast"}},
		{"the command after `--` is yours", []string{"--template", "ddp", "--set", "gpus=2"}},
		{"do not go together", []string{"--template", "quick", "--on-anomaly", "nan"}},
		{"is no condition", []string{"--on-anomaly", "loss>3"}},
		{"holds for every step", []string{"--on-anomaly", "step>0*p95"}},
		{"holds for every step", []string{"--on-anomaly", "nan,step>0ms"}},
		{"keep 1 or more captures", []string{"--on-anomaly", "nan", "--keep", "0"}},
		{"--cooldown -5s: use 0s for none", []string{"--on-anomaly", "nan", "--cooldown", "-5s"}},
		{"500MB", []string{"--on-anomaly", "nan", "--max-disk", "lots"}},
		{"USR1, USR2 or none", []string{"--on-anomaly", "nan", "--signal", "KILL"}},
		{"needs --on-anomaly", []string{"--keep", "3"}},
		{"runs nothing", []string{"--python-api"}},
	} {
		got := stepline(t, t.TempDir(), "", nil, append(append([]string{"record", "-o", "out"}, test.arguments...), "--", "sh", "-c", "true")...)
		if got.code != exitUsage || got.out != "" {
			t.Errorf("%v: exit %d with output %q", test.arguments, got.code, got.out)
		}
		oneLine(t, got.errout, test.says)
	}
}

// TestTemplatesCallStepline parses every stepline command line of the templates with the real commands.
func TestTemplatesCallStepline(t *testing.T) {
	list, err := capture.All()
	if err != nil {
		t.Fatal(err)
	}
	root := newRootCommand(streams{in: strings.NewReader(""), out: &strings.Builder{}, err: &strings.Builder{}, environment: func(string) string { return "" }})
	parsed := 0
	for i := range list {
		for _, format := range list[i].Formats() {
			text, err := list[i].Render(format, nil)
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.SplitSeq(text, "\n") {
				_, line, found := strings.Cut(line, "stepline ")
				line, _, _ = strings.Cut(line, " -- ")
				line, _, _ = strings.Cut(line, ",")
				line, _, _ = strings.Cut(line, ";")
				line, _, _ = strings.Cut(line, " on the one")
				line, _, _ = strings.Cut(line, " runs the same")
				words := strings.Fields(line)
				if !found || len(words) == 0 {
					continue
				}
				var command *cobra.Command
				command, words, err = root.Find(words)
				if err != nil || command == root {
					t.Errorf("%s: stepline %s: %v", list[i].Name, line, err)
					continue
				}
				if err := command.ParseFlags(words); err != nil {
					t.Errorf("%s: stepline %s: %v", list[i].Name, line, err)
				}
				parsed++
			}
		}
	}
	if parsed < 15 {
		t.Errorf("only %d command lines found", parsed)
	}
}
