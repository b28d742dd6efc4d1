package recorder

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stepline/traceindex/recorder/recordertest"
)

// needPython is a Python that has torch.
var needPython = recordertest.Python

// ran is what a recorded script left.
type ran struct {
	out, err string
	failure  error
	folder   string
}

// environment is the test's own without what would reach into the scripts.
func environment(more ...string) []string {
	env := slices.DeleteFunc(os.Environ(), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains([]string{"PYTHONPATH", "RANK", "WORLD_SIZE", "LOCAL_RANK"}, name)
	})
	return append(append(env, "OMP_NUM_THREADS=1", "PYTHONDONTWRITEBYTECODE=1"), more...)
}

func record(t *testing.T, options Options, args ...string) ran {
	t.Helper()
	args = append([]string{needPython(t)}, args...)
	return recordCommand(t, options, args...)
}

func recordCommand(t *testing.T, options Options, args ...string) ran {
	t.Helper()
	var out, told bytes.Buffer
	options.Out, options.Err = &out, &told
	if options.In == nil {
		options.In = strings.NewReader("")
	}
	if options.OutDir == "" {
		options.OutDir = filepath.Join(t.TempDir(), "recorded")
	}
	if options.Env == nil {
		options.Env = environment()
	}
	failure := Run(context.Background(), options, args)
	r := ran{out: out.String(), err: told.String(), failure: failure, folder: options.OutDir}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%v: %v\n%s%s", args, r.failure, r.out, r.err)
		}
	})
	return r
}

func (r ran) files(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(r.folder)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func (r ran) unpack(t *testing.T, name string, into any) {
	t.Helper()
	file, err := os.Open(filepath.Join(r.folder, name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(unpacked).Decode(into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

type event struct {
	Name, Category string
	Nanoseconds    int64 // since 1970
}

func (r ran) events(t *testing.T, name string) []event {
	t.Helper()
	var trace struct {
		Base   int64 `json:"baseTimeNanoseconds"`
		Events []struct {
			Name     string      `json:"name"`
			Category string      `json:"cat"`
			Phase    string      `json:"ph"`
			Start    json.Number `json:"ts"`
		} `json:"traceEvents"`
	}
	r.unpack(t, name, &trace)
	var events []event
	for _, e := range trace.Events {
		if e.Phase == "X" {
			events = append(events, event{e.Name, e.Category, trace.Base + nanoseconds(t, e.Start.String())})
		}
	}
	return events
}

// nanoseconds reads microseconds written with up to three decimals, exactly.
func nanoseconds(t *testing.T, microseconds string) int64 {
	t.Helper()
	whole, fraction, _ := strings.Cut(microseconds, ".")
	ns, err := strconv.ParseInt(whole+(fraction + "000")[:3], 10, 64)
	if err != nil {
		t.Fatalf("time %q: %v", microseconds, err)
	}
	return ns
}

func steps(events []event) []string {
	var found []string
	for _, e := range events {
		if strings.HasPrefix(e.Name, "ProfilerStep#") && e.Category == "user_annotation" {
			found = append(found, e.Name)
		}
	}
	return found
}

// callRow is one row of the call lines.
type callRow struct {
	name, file, function string
	start                int64
	line, first          int
}

func (r ran) calls(t *testing.T, name string) []callRow {
	t.Helper()
	var rows [][]json.RawMessage
	r.unpack(t, name, &rows)
	var calls []callRow
	for _, row := range rows {
		var c callRow
		for i, into := range []any{&c.name, &c.start, &c.file, &c.line, &c.function, &c.first} {
			if err := json.Unmarshal(row[i], into); err != nil {
				t.Fatalf("row %s: %v", row, err)
			}
		}
		calls = append(calls, c)
	}
	return calls
}

func (r ran) sources(t *testing.T, name string) *Sources {
	t.Helper()
	file, err := os.Open(filepath.Join(r.folder, name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	sources, err := ReadSources(file)
	if err != nil {
		t.Fatal(err)
	}
	return sources
}

// linesOf is the source's line for each call that the script made in the window, by the name of what it called.
func linesOf(calls []callRow, file string) map[string][]int {
	found := map[string][]int{}
	address := regexp.MustCompile(` of .*>|>$|^<built-in (function|method) `)
	for _, c := range calls {
		if c.file == file {
			name := address.ReplaceAllString(c.name, "")
			found[name] = append(found[name], c.line)
		}
	}
	return found
}

// lineOf is the line of the one place in a test script that holds a text.
func lineOf(t *testing.T, file, text string) int {
	t.Helper()
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, _, found := strings.Cut(string(source), text)
	if !found {
		t.Fatalf("%s has no %q", file, text)
	}
	return 1 + strings.Count(before, "\n")
}

func TestRecordsTheWindow(t *testing.T) {
	r := record(t, Options{Steps: 2, Warmup: 3, Root: "testdata", Version: "test"}, "testdata/loop.py", "9")
	if r.failure != nil {
		t.Fatal(r.failure)
	}
	if diff := cmp.Diff([]string{"loop.trace.callers.json.gz", "loop.trace.json.gz", "loop.trace.sources.json.gz"}, r.files(t)); diff != "" {
		t.Fatal(diff)
	}
	if !strings.Contains(r.out, "profiling None hooked False") {
		t.Error("something stays in the script after the window:", r.out)
	}
	events := r.events(t, "loop.trace.json.gz")
	if diff := cmp.Diff([]string{"ProfilerStep#3", "ProfilerStep#4"}, steps(events)); diff != "" {
		t.Error(diff)
	}
	calls := r.calls(t, "loop.trace.callers.json.gz")
	t.Run("call lines are the script's", func(t *testing.T) {
		at := func(text string) int { return lineOf(t, "testdata/loop.py", text) }
		got := linesOf(calls, "loop.py")
		for name, line := range map[string]int{
			"randn":                   at("loss_of(model, torch.randn"),
			"relu":                    at("squared = "),
			"sum":                     at("return squared"),
			"nn.Module: Sequential_0": at("hidden = model"),
		} {
			if diff := cmp.Diff([]int{line, line}, got[name]); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
		for _, c := range calls {
			if strings.HasSuffix(c.name, ": loss_of") && (c.first != at("def loss_of") || c.function != "train") {
				t.Errorf("loss_of: %+v", c)
			}
		}
	})
	t.Run("call lines and trace agree on name and start", func(t *testing.T) {
		started := map[callRow]bool{}
		for _, c := range calls {
			started[callRow{name: c.name, start: c.start}] = true
		}
		frames := 0
		for _, e := range events {
			if e.Category != "python_function" {
				continue
			}
			frames++
			if !started[callRow{name: e.Name, start: e.Nanoseconds}] {
				t.Fatalf("no call line for %+v", e)
			}
		}
		if frames == 0 || frames > len(calls) {
			t.Errorf("%d frames in the trace, %d call lines", frames, len(calls))
		}
	})
	t.Run("sources", func(t *testing.T) {
		s := r.sources(t, "loop.trace.sources.json.gz")
		if len(s.Files) != 1 {
			t.Fatalf("files: %+v", s.Files)
		}
		file := s.Files[0]
		text, err := os.ReadFile("testdata/loop.py")
		if err != nil {
			t.Fatal(err)
		}
		want := SourceFile{Path: "loop.py", Recorded: []string{"loop.py"}, SHA256: sha(text), Size: int64(len(text)), Text: string(text)}
		for _, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
			want.LineHashes = append(want.LineHashes, sha([]byte(line))[:12])
		}
		if diff := cmp.Diff(want, file); diff != "" {
			t.Error(diff)
		}
		if s.Rank != nil || s.WorldSize != nil || s.CallLines != len(calls) || s.Trace != "loop.trace.json.gz" {
			t.Errorf("%+v", s)
		}
		if diff := cmp.Diff(RecordedSteps{First: 3, Recorded: 2, Asked: 2, Warmup: 3, Complete: true, Optimizer: "AdamW", OptimizerSteps: 5}, s.Steps); diff != "" {
			t.Error(diff)
		}
		if s.Versions["stepline"] != "test" || s.Versions["torch"] == nil || s.Versions["python"] == nil {
			t.Errorf("versions: %v", s.Versions)
		}
	})
}

func TestShapesAndMemory(t *testing.T) {
	r := record(t, Options{Steps: 1, Warmup: 1, Shapes: true, Memory: true, OmitText: true}, "testdata/loop.py", "4")
	if r.failure != nil {
		t.Fatal(r.failure)
	}
	if got := steps(r.events(t, "loop.trace.json.gz")); !slices.Equal(got, []string{"ProfilerStep#1"}) {
		t.Errorf("steps %v", got)
	}
	for _, f := range r.sources(t, "loop.trace.sources.json.gz").Files {
		if f.Text != "" || len(f.LineHashes) == 0 {
			t.Errorf("%s: text %d bytes, %d hashes", f.Path, len(f.Text), len(f.LineHashes))
		}
	}
}

// TestScriptSeesNothing compares what a script can tell of its start with and without the recorder.
func TestScriptSeesNothing(t *testing.T) {
	python := needPython(t)
	site, err := filepath.Abs("testdata/site")
	if err != nil {
		t.Fatal(err)
	}
	folder, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"testdata/facts.py", "--flag", "a b"}, {"-m", "pkg", "x"}} {
		t.Run(args[0], func(t *testing.T) {
			env := environment("PYTHONPATH=" + site + string(os.PathListSeparator) + folder)
			plain := exec.Command(python, args...)
			plain.Env, plain.Stdin = env, strings.NewReader("typed")
			want, err := plain.Output()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 5 {
				t.Fatalf("without the recorder: %v\n%s", err, want)
			}
			r := record(t, Options{Steps: 1, Env: env, In: strings.NewReader("typed")}, args...)
			var failed *ExitError
			if !errors.As(r.failure, &failed) || failed.Code != 5 {
				t.Errorf("the script's exit code 5 came as %v", r.failure)
			}
			if diff := cmp.Diff(string(want), r.out); diff != "" {
				t.Error(diff)
			}
			if !strings.Contains(r.out, `"site": "yes"`) {
				t.Error("the site's own sitecustomize did not run")
			}
			if len(r.files(t)) != 3 {
				t.Errorf("recorded %v", r.files(t))
			}
		})
	}
}

func TestStepsOfOptimizers(t *testing.T) {
	for _, test := range []struct {
		what, optimizer string
		seen            int // optimizer steps in 2 + 2 rounds
		first           string
	}{
		{"two", "Adam", 8, "ProfilerStep#2"},
		{"nested", "Wrapping", 4, "ProfilerStep#2"},
		{"scheduled", "SGD", 4, "ProfilerStep#2"},
		{"closure", "LBFGS", 4, "ProfilerStep#2"},
		{"bound", "Adam", 4, "ProfilerStep#2"},
	} {
		t.Run(test.what, func(t *testing.T) {
			r := record(t, Options{Steps: 2, Warmup: 2}, "testdata/optimizers.py", test.what)
			if r.failure != nil {
				t.Fatal(r.failure)
			}
			got := steps(r.events(t, "optimizers.trace.json.gz"))
			if len(got) != 2 || got[0] != test.first {
				t.Errorf("steps %v", got)
			}
			s := r.sources(t, "optimizers.trace.sources.json.gz").Steps
			if s.Optimizer != test.optimizer || s.OptimizerSteps != test.seen {
				t.Errorf("marked by %s, %d optimizer steps seen", s.Optimizer, s.OptimizerSteps)
			}
		})
	}
	t.Run("skipped by a scaler", func(t *testing.T) {
		r := record(t, Options{Steps: 4, Warmup: 2}, "testdata/scaler.py")
		if got := steps(r.events(t, "scaler.trace.json.gz")); !slices.Equal(got, []string{"ProfilerStep#2", "ProfilerStep#3", "ProfilerStep#4", "ProfilerStep#5"}) {
			t.Errorf("steps %v", got)
		}
	})
	t.Run("none", func(t *testing.T) {
		r := record(t, Options{}, "testdata/optimizers.py", "none")
		var nothing *NothingRecordedError
		if !errors.As(r.failure, &nothing) || !strings.Contains(nothing.Reason, "no optimizer of torch.optim took a step") {
			t.Errorf("%v", r.failure)
		}
		if files := r.files(t); len(files) > 0 {
			t.Errorf("left %v", files)
		}
	})
}
