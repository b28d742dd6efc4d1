package verify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"stepline/traceindex/recorder/recordertest"
)

// repository is a git repository with a benchmark that prints the steps' times and losses of the file numbers.
func repository(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_SYSTEM", os.DevNull)
	write(t, folder, files)
	for _, arguments := range [][]string{
		{"init", "-q", "-b", "main", "."},
		{"add", "."},
		{"-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm", "base"},
	} {
		command := exec.Command("git", arguments...)
		command.Dir = folder
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", arguments, err, out)
		}
	}
	return folder
}

func write(t *testing.T, folder string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// state is what the user can see of a repository: files, git's own view, worktrees and stashes.
func state(t *testing.T, folder string) string {
	t.Helper()
	command := exec.Command("sh", "-c", "git status --porcelain; git worktree list | wc -l; git stash list; find . -path ./.git -prune -o -type f -print | sort | xargs cat; git rev-parse HEAD")
	command.Dir = folder
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// bench prints the lines of sub/numbers (as many as it has), each run a little later in them than the one before.
const bench = `n=$(cat "$COUNTER" 2>/dev/null || echo 0); echo $((n + 1)) >"$COUNTER"
while read -r ms loss; do echo "step $ms.$n ms loss $loss"; done <sub/numbers
`

func patterns(t *testing.T, o *Options) {
	t.Helper()
	var err1, err2 error
	o.Step, err1 = NewStepPattern(`step (?P<ms>[\d.]+) ms`)
	o.Loss, err2 = NewLossPattern(`loss (\S+)`)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
}

func options(t *testing.T, folder string) Options {
	t.Helper()
	o := Options{
		Base: &Source{Ref: "main"}, New: Source{WorkingTree: true}, Command: []string{"sh", "bench.sh"}, Dir: folder, Runs: 3, Warmup: 1,
		Env: append(os.Environ(), "COUNTER="+filepath.Join(t.TempDir(), "counter")), FailAbove: 0.03, LossTolerance: 1e-3,
	}
	patterns(t, &o)
	return o
}

// TestVerdicts runs a commit against the working tree with every outcome.
func TestVerdicts(t *testing.T) {
	base := "50 2.0\n10 1.5\n10 1.25\n"
	for _, test := range []struct {
		name, numbers string
		want          Verdict
		differ        bool
		failed        bool
		says          []string
	}{
		{"faster", "90 2.0\n5 1.5\n5 1.25\n", Faster, false, false, []string{"faster by", "losses: all 3 are equal"}},
		{"slower", "50 2.0\n20 1.5\n20 1.25\n", Slower, false, true, []string{"slower by", "gate: slower by more than 3 % beyond noise: failed"}},
		{"the same", base, NoDifference, false, false, []string{"no difference beyond noise"}},
		{"other results", "50 2.0\n5 1.5\n5 1.26\n", Faster, true, true, []string{"results differ; the step is faster", "loss 3 of 3 is 1.25 in base and 1.26 in new (0.794 %, tolerance 0.1 %)"}},
		{"within the tolerance", "50 2.0\n10 1.5001\n10 1.25\n", NoDifference, false, false, []string{"losses: 3 are equal within 0.1 %"}},
		{"not a number", "50 2.0\n10 nan\n10 1.25\n", NoDifference, true, true, []string{"one is not finite"}},
		{"fewer losses", "50 2.0\n10 1.5\n", NoDifference, true, true, []string{"base has 3 a run and new 2"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			folder := repository(t, map[string]string{"bench.sh": bench, "sub/numbers": base})
			write(t, folder, map[string]string{"sub/numbers": test.numbers})
			before := state(t, folder)
			r, err := Run(context.Background(), options(t, folder))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, state(t, folder)); diff != "" {
				t.Errorf("the checkout was touched: %s", diff)
			}
			if r.Verdict != test.want || r.Losses.Differ != test.differ || r.Failed() != test.failed {
				t.Errorf("verdict %s, differ %v, failed %v", r.Verdict, r.Losses.Differ, r.Failed())
			}
			if r.New.Told != "working tree" || r.Base.Told != "main" || len(r.New.Runs) != 3 || r.New.Clock != "output" {
				t.Errorf("%+v", r.New)
			}
			var text bytes.Buffer
			if err := WriteText(&text, r); err != nil {
				t.Fatal(err)
			}
			for _, says := range test.says {
				if !strings.Contains(text.String(), says) {
					t.Errorf("does not say %q:\n%s", says, text.String())
				}
			}
			fitsSchema(t, r)
			var markdown bytes.Buffer
			if err := WriteMarkdown(&markdown, r); err != nil || !strings.HasPrefix(markdown.String(), "### ") || strings.Count(markdown.String(), "| step time |") != 1 {
				t.Errorf("%v\n%s", err, markdown.String())
			}
		})
	}
}

// TestLossesLeftOut: losses that were not to be compared are not said to be missing, and fail nothing.
func TestLossesLeftOut(t *testing.T) {
	folder := repository(t, map[string]string{"bench.sh": bench, "sub/numbers": "50 2.0\n10 1.5\n10 1.25\n"})
	write(t, folder, map[string]string{"sub/numbers": "50 2.0\n10 1.5\n10 7\n"})
	o := options(t, folder)
	o.LossTolerance = -1
	r, err := Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := WriteText(&text, r); err != nil || r.Failed() || r.Losses != nil || !strings.Contains(text.String(), "losses: not compared (--no-losses)") {
		t.Errorf("%v, losses %+v\n%s", err, r.Losses, text.String())
	}
	fitsSchema(t, r)
}

func fitsSchema(t *testing.T, r *Result) {
	t.Helper()
	schema, err := jsonschema.NewCompiler().Compile("../docs/schema/verify.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := WriteJSON(&out, r); err != nil {
		t.Fatal(err)
	}
	var document any
	if err := json.Unmarshal(out.Bytes(), &document); err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(document); err != nil {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// TestWorkingTree: untracked files, copies and links of ignored ones reach the worktrees; so does the current folder.
func TestWorkingTree(t *testing.T) {
	folder := repository(t, map[string]string{".gitignore": "data/\n", "sub/file": ""})
	write(t, folder, map[string]string{"sub/new/numbers": "10 1\n10 1\n", "data/big": "x", "tool.sh": "exit 0\n"})
	o := options(t, filepath.Join(folder, "sub"))
	o.Command = []string{"sh", "-c", `sh ../tool.sh && test -L ../data && cat ../data/big >/dev/null && case "$PYTHONPATH" in *verify*) ;; *) exit 3;; esac
		for i in 1 2 3; do echo "step 10 ms loss 1"; done`}
	o.Copy, o.Link = []string{"../tool.sh"}, []string{"../data"}
	if _, err := Run(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	o.Command = []string{"sh", "-c", "test -e new/numbers && echo step 10 ms loss 1 && echo step 10 ms loss 1"}
	var failed *FailedError
	if _, err := Run(context.Background(), o); !errors.As(err, &failed) || failed.Side != "base" {
		t.Errorf("the untracked file is in the base: %v", err)
	}
	o.Base, o.New = &Source{Shell: "echo step 10 ms loss 1; echo step 10 ms loss 1"}, Source{WorkingTree: true}
	if _, err := Run(context.Background(), o); err != nil {
		t.Errorf("the untracked file is not in the working tree's copy: %v", err)
	}
	sparse, err := os.Create(filepath.Join(folder, "sub", "weights.bin"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(sparse.Truncate(mostUntracked+1), sparse.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(context.Background(), o); err == nil || !strings.Contains(err.Error(), "the largest is sub/weights.bin") {
		t.Errorf("%v", err)
	}
	o.Link = append(o.Link, "weights.bin")
	if _, err := Run(context.Background(), o); err != nil {
		t.Error(err)
	}
	o.Copy = []string{"/etc/passwd"}
	if _, err := Run(context.Background(), o); err == nil || !strings.Contains(err.Error(), "not in the repository") {
		t.Errorf("%v", err)
	}
}

// TestTroubles: a failing command with its last lines, wrong names, output that fits no pattern; nothing is left behind.
func TestTroubles(t *testing.T) {
	folder := repository(t, map[string]string{"bench.sh": bench, "sub/numbers": "10 1\n10 1\n"})
	before := state(t, folder)
	for _, test := range []struct {
		name   string
		change func(*Options)
		says   string
	}{
		{"fails", func(o *Options) { o.Command = []string{"sh", "-c", "echo reading; echo no data >&2; exit 7"} }, "base (main) failed in its run 1 with exit code 7; its last lines are above"},
		{"fails in silence", func(o *Options) { o.Command = []string{"false"} }, "with exit code 1; it printed nothing"},
		{"killed", func(o *Options) { o.Command = []string{"sh", "-c", "kill -9 $$"} }, "failed in its run 1 by a signal"},
		{"no such ref", func(o *Options) { o.Base.Ref = "nowhere" }, `no commit "nowhere"`},
		{"an option as ref", func(o *Options) { o.Base.Ref = "--all" }, `no commit "--all"`},
		{"no such program", func(o *Options) { o.Command = []string{"no-such-program"} }, "no-such-program"},
		{"no step printed", func(o *Options) { o.Command = []string{"true"} }, "no line of its output fits"},
		{"too few steps", func(o *Options) { o.Warmup = 9 }, "smaller --warmup"},
		{"nothing timed", func(o *Options) { o.Step, o.Loss = nil, nil }, "no Python process"},
		{"one run", func(o *Options) { o.Runs = 1 }, "2 or more"},
		{"no base", func(o *Options) { o.Base = nil }, "--base"},
		{"no command", func(o *Options) { o.Command = nil }, "after `--`"},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := options(t, folder)
			test.change(&o)
			_, err := Run(context.Background(), o)
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%v does not say %q", err, test.says)
			}
			var failed *FailedError
			if errors.As(err, &failed) && len(failed.Last) > 0 {
				if diff := cmp.Diff([]string{"reading", "no data"}, failed.Last); diff != "" {
					t.Error(diff)
				}
			}
			if diff := cmp.Diff(before, state(t, folder)); diff != "" {
				t.Errorf("something is left: %s", diff)
			}
		})
	}
}

// TestInterrupted: a cancelled verification ends its command with all below it, and removes its worktrees.
func TestInterrupted(t *testing.T) {
	folder := repository(t, map[string]string{"file": ""})
	before := state(t, folder)
	o := options(t, folder)
	marker := filepath.Join(t.TempDir(), "started")
	if out, err := exec.Command("mkfifo", marker).CombinedOutput(); err != nil {
		t.Skipf("no named pipe: %v %s", err, out)
	}
	// All processes of the command keep the pipe open: its end is theirs.
	o.Command = []string{"sh", "-c", "exec 3>" + marker + "; echo started >&3; sleep 600 & sleep 600"}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		pipe, err := os.Open(marker)
		if err == nil {
			defer pipe.Close()
			_, err = pipe.Read(make([]byte, 1)) // waits for the command to write
		}
		cancel()
		if err == nil {
			_, err = io.Copy(io.Discard, pipe)
		}
		ended <- err
	}()
	if _, err := Run(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("a process below the command is still there")
	}
	if diff := cmp.Diff(before, state(t, folder)); diff != "" {
		t.Errorf("something is left: %s", diff)
	}
}

// TestAttached times an unmodified training without patterns, and holds its loader against budgets.
func TestAttached(t *testing.T) {
	python := recordertest.Python(t)
	script, err := filepath.Abs("../traceindex/recorder/testdata/timed.py")
	if err != nil {
		t.Fatal(err)
	}
	seed := int64(1)
	o := Options{
		New: Source{}, Base: &Source{Shell: python + " " + script}, Command: []string{python, script}, Dir: t.TempDir(), Runs: 2, Warmup: 2, Seed: &seed,
		Env: append(os.Environ(), "OMP_NUM_THREADS=1"), FailAbove: -1, LossTolerance: 1e-6, LoaderBudget: time.Second,
	}
	r, err := Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Losses.Compared != 8 || r.Losses.Differ || r.New.Clock != "host" || r.New.HostPeakBytes == nil || r.New.Runs[0].Steps != 5 {
		t.Errorf("%+v\n%+v", r.Losses, r.New)
	}
	if r.Loader == nil || r.Loader.Verdict != LoaderWithin || r.Loader.MeanNs < 5e6 {
		t.Errorf("loader %+v", r.Loader)
	}
	fitsSchema(t, r)
	o.Base, o.LoaderBudget = nil, time.Millisecond
	r, err = Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Loader.Verdict != LoaderOver || !r.Failed() {
		t.Errorf("6 ms a batch against 1 ms: %+v", r.Loader)
	}
	fitsSchema(t, r)
}

func TestPatterns(t *testing.T) {
	for text, want := range map[string]float64{
		`(?P<ms>[\d.]+) ms`: 12.5e6, `took (?P<s>[\d.]+)`: 12.5e9, `(?P<us>[\d.]+)`: 12.5e3, `(?P<rate>[\d.]+)`: 1e9 / 12.5,
	} {
		p, err := NewStepPattern(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, found := p.read("it took 12.5 ms"); !found || got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	for _, text := range []string{`([\d.]+)`, `(?P<hours>x)`, `(`} {
		if _, err := NewStepPattern(text); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
	p, err := NewLossPattern(`(step) loss=(?P<loss>\S+)`)
	if err != nil {
		t.Fatal(err)
	}
	if v, found := p.read("step loss=nan"); !found || !math.IsNaN(v) {
		t.Errorf("%v %v", v, found)
	}
}

// TestOwnScatter: where one side's runs differ among themselves, the sides' difference must be larger to count.
func TestOwnScatter(t *testing.T) {
	runs := func(last ...float64) []*run {
		var out []*run
		for _, v := range last {
			out = append(out, &run{losses: []float64{2, 1, v}})
		}
		return out
	}
	for _, test := range []struct {
		name      string
		base, new []*run
		differ    bool
	}{
		{"scatter as large", runs(1, 1.02), runs(1.01, 1.0), false},
		{"beyond the scatter", runs(1, 1.001), runs(1.05, 1.05), true},
		{"next to zero", runs(1e-9, 1e-9), runs(2e-9, 2e-9), false},
		{"both infinite", runs(math.Inf(1), math.Inf(1)), runs(math.Inf(1), math.Inf(1)), false},
	} {
		if got := compareLosses(test.base, test.new, 1e-3); got.Differ != test.differ {
			t.Errorf("%s: %+v", test.name, got)
		}
	}
}
