package recorder

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// captureReason is what the tests read of X.capture.json.
type captureReason struct {
	Trace, Reason, Condition string
	Step                     int
	Value                    any
	Threshold                float64
	Captured                 struct {
		First, Steps int
		Complete     bool
	}
	Baseline *struct{ Steps int }
}

// watch runs testdata/watched.py for some steps with what happens in them.
func watch(t *testing.T, watching Watch, count, what string) ran {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "captures")
	if watching.Cooldown == 0 {
		watching.Cooldown = -1
	}
	return record(t, Options{Watch: &watching, Steps: 2, OutDir: folder, Root: "testdata", Env: environment("CAPTURES=" + folder)},
		"testdata/watched.py", count, what)
}

// captures reads the reasons of all captures kept, by folder, and holds each against the schema.
func (r ran) captures(t *testing.T) map[string]captureReason {
	t.Helper()
	schema, err := jsonschema.NewCompiler().Compile("../../docs/schema/capture.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(r.folder, "*", "*.capture.json"))
	if err != nil {
		t.Fatal(err)
	}
	captures := map[string]captureReason{}
	for _, path := range found {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var document any
		var reason captureReason
		if err := errors.Join(json.Unmarshal(text, &document), json.Unmarshal(text, &reason)); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if err := schema.Validate(document); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		captures[filepath.Base(filepath.Dir(path))] = reason
	}
	return captures
}

// TestWatch has one training go wrong in every way that is watched for.
func TestWatch(t *testing.T) {
	r := watch(t, Watch{When: []string{"step>350ms", "nan"}, Keep: 9}, "130", "nan,slow,signal,file")
	if r.failure != nil {
		t.Fatal(r.failure)
	}
	captures := r.captures(t)
	reasons := map[string]int{}
	for folder, c := range captures {
		reasons[c.Reason]++
		if c.Trace != "watched.trace.json.gz" || c.Captured.Steps != 2 || !c.Captured.Complete || c.Captured.First < c.Step {
			t.Errorf("%s: %+v", folder, c)
		}
		inside := ran{folder: filepath.Join(r.folder, folder)}
		if diff := cmp.Diff([]string{"watched.capture.json", "watched.trace.callers.json.gz", "watched.trace.json.gz", "watched.trace.sources.json.gz"}, inside.files(t)); diff != "" {
			t.Error(diff)
		}
		if got := steps(inside.events(t, c.Trace)); len(got) != 2 {
			t.Errorf("%s: steps %v", folder, got)
		}
		lines := linesOf(inside.calls(t, "watched.trace.callers.json.gz"), "watched.py")
		if at := lineOf(t, "testdata/watched.py", "loss = model("); len(lines["randn"]) != 2 || lines["randn"][0] != at {
			t.Errorf("%s: randn at %v, want twice %d", folder, lines["randn"], at)
		}
		switch c.Reason {
		case "nan":
			if c.Step != 40 || c.Value != "nan" {
				t.Errorf("%s: %+v", folder, c)
			}
		case "slow-step":
			if value, _ := c.Value.(float64); value < 0.3 || c.Threshold <= 0 || value <= c.Threshold || c.Baseline == nil || c.Baseline.Steps < 20 {
				t.Errorf("%s: %+v", folder, c)
			}
		}
	}
	// A busy machine can make other steps slow too.
	if reasons["nan"] != 1 || reasons["asked"] != 2 || reasons["slow-step"] < 2 {
		t.Errorf("captures by reason: %v", reasons)
	}
	for _, says := range []string{"the loss of step 40 is nan", "asked for by signal USR2 at step 60", "asked for by file capture-now", "watched 130 steps", "stepline lines"} {
		if !strings.Contains(r.err, says) {
			t.Errorf("does not say %q", says)
		}
	}
	if !strings.Contains(r.out, "trained 130") {
		t.Error("the training did not end as it would")
	}
}

// TestWatchEnds: the script's own end is kept, a capture under way is written, the ring is bounded.
func TestWatchEnds(t *testing.T) {
	t.Run("raises in a capture, ring of one, signal to the command", func(t *testing.T) {
		r := watch(t, Watch{When: []string{"step>10*p95"}, Keep: 1}, "130", "slow,launcher,raise")
		var failed *ExitError
		if !errors.As(r.failure, &failed) || failed.Code != 1 || !strings.Contains(r.err, "ValueError: as the script would") {
			t.Errorf("the script's exit code 1 came as %v", r.failure)
		}
		captures := r.captures(t)
		if len(captures) != 1 || len(r.files(t)) != 1 {
			t.Fatalf("a ring of one holds %v", r.files(t))
		}
		for folder, c := range captures {
			if c.Captured.First < 60 || c.Captured.Complete {
				t.Errorf("%s is not the last one: %+v", folder, c)
			}
		}
		if !strings.Contains(r.err, "captured 52") && !strings.Contains(r.err, "step 50 took") {
			t.Error("the capture before it was not made")
		}
	})
	t.Run("the folder goes away", func(t *testing.T) {
		r := watch(t, Watch{When: []string{"nan"}}, "100", "nan,full,signal")
		if r.failure != nil || !strings.Contains(r.out, "trained 100") {
			t.Errorf("%v", r.failure)
		}
		if got := strings.Count(r.err, "no capture: "); got != 1 {
			t.Errorf("%d lines about the same trouble", got)
		}
	})
	t.Run("too large for the disk space allowed", func(t *testing.T) {
		r := watch(t, Watch{When: []string{"nan"}, MaxBytes: 1000}, "60", "nan")
		if r.failure != nil || len(r.captures(t)) > 0 || !strings.Contains(r.err, "larger than the disk space allowed") {
			t.Errorf("%v, %v", r.failure, r.files(t))
		}
	})
	t.Run("the script's own profiler", func(t *testing.T) {
		r := watch(t, Watch{When: []string{"nan"}}, "80", "nan,own")
		if r.failure != nil || !strings.Contains(r.out, "own profiler saw") || !strings.Contains(r.err, "runs its own profiler") {
			t.Errorf("%v", r.failure)
		}
		for folder, c := range r.captures(t) {
			if c.Captured.First < 55 {
				t.Errorf("%s was recorded while the script's own profiler ran", folder)
			}
		}
		if len(r.captures(t)) != 1 {
			t.Errorf("captures %v", r.files(t))
		}
	})
	t.Run("nothing happens", func(t *testing.T) {
		r := watch(t, Watch{When: []string{"nan"}}, "30", "")
		if r.failure != nil || !strings.Contains(r.err, "nothing to capture") {
			t.Errorf("%v", r.failure)
		}
		if _, err := os.Stat(r.folder); err == nil {
			t.Error("an empty folder is left")
		}
	})
}

// TestWatchRanks: the ranks record the same steps, whichever of them saw the reason.
func TestWatchRanks(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "captures")
	r := record(t, Options{Watch: &Watch{When: []string{"nan"}}, Steps: 2, OutDir: folder, Root: "testdata"}, "testdata/launch.py", freePort(t), "testdata/watched_ranks.py")
	if r.failure != nil {
		t.Fatal(r.failure)
	}
	files := r.files(t)
	if len(files) != 1 {
		t.Fatalf("captures %v, want one of both ranks", files)
	}
	inside := ran{folder: filepath.Join(folder, files[0])}
	for _, name := range []string{"watched_ranks.rank0.trace.json.gz", "watched_ranks.rank1.trace.json.gz"} {
		if got := steps(inside.events(t, name)); len(got) != 2 {
			t.Errorf("%s: steps %v", name, got)
		}
	}
}

// TestPythonAPI imports the printed module and the shipped files in a script with a loop of its own.
func TestPythonAPI(t *testing.T) {
	python := needPython(t)
	text, err := PythonAPI("test")
	if err != nil {
		t.Fatal(err)
	}
	printed := t.TempDir()
	if err := os.WriteFile(filepath.Join(printed, "stepline_recorder.py"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	shipped := t.TempDir()
	for _, part := range apiParts {
		text, err := os.ReadFile("python/" + part + ".py")
		if err == nil {
			err = os.WriteFile(filepath.Join(shipped, part+".py"), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct{ name, path, then string }{{"printed", printed, ""}, {"shipped", shipped, "raise"}} {
		t.Run(test.name, func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), "captures")
			command := exec.Command(python, "testdata/own_loop.py", folder, test.then)
			command.Env = environment("PYTHONPATH=" + test.path)
			out, err := command.CombinedOutput()
			if test.then == "" && (err != nil || !strings.Contains(string(out), "captures 2")) || test.then != "" && !strings.Contains(string(out), "ValueError: as the script would") {
				t.Fatalf("%v\n%s", err, out)
			}
			r := ran{folder: folder}
			captures := r.captures(t)
			var conditions []string
			for name, c := range captures {
				conditions = append(conditions, c.Condition)
				inside := ran{folder: filepath.Join(folder, name)}
				if got := steps(inside.events(t, c.Trace)); len(got) != 2 {
					t.Errorf("%s: steps %v", name, got)
				}
				for _, f := range inside.sources(t, "own_loop.trace.sources.json.gz").Files {
					if strings.Contains(f.Path, "stepline") {
						t.Errorf("the recorder is among the sources: %s", f.Path)
					}
				}
			}
			slices.Sort(conditions)
			if diff := cmp.Diff([]string{"nan", "the test"}, conditions); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestWatchConditions: the conditions that are taken, and that the Python part takes the same ones.
func TestWatchConditions(t *testing.T) {
	conditions := map[string]bool{
		"nan": true, "step>1.2*p95": true, "step > 2 * median": true, "step>250ms": true, "step>p99,nan": true, "step>1.2*p95|nan": true, "nan|": false, "step>1.5*mean": true,
		"step": false, "step>": false, "step>2*p": false, "step<1ms": false, "loss>3": false, "": false, "step>250": false,
		"step>0*p95": false, "step>0ms": false, "step>0.0*median": false, "step>2*0s": false, "nan,step>0us": false, "step>0.5*p95": true, "step>10ms": true,
	}
	for text, fine := range conditions {
		if err := (&Watch{When: []string{text}}).check(); (err == nil) != fine {
			t.Errorf("%q: %v", text, err)
		}
	}
	if err := (&Watch{Signal: "KILL"}).check(); err == nil {
		t.Error("SIGKILL cannot ask for anything")
	}
	if got := (&Watch{Cooldown: time.Second}).settings()["cooldown_s"]; got != 1.0 {
		t.Errorf("cooldown %v", got)
	}
	const judge = `import json, sys
sys.path.insert(0, "python")
import stepline_timing
def fine(text):
    try:
        stepline_timing.conditions(text)
        return True
    except ValueError:
        return False
print(json.dumps({text: fine(text) for text in json.load(sys.stdin)}))`
	texts, err := json.Marshal(conditions)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(needPython(t), "-c", judge)
	command.Env, command.Stdin = environment(), strings.NewReader(string(texts))
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	var python map[string]bool
	if err := json.Unmarshal(out, &python); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(conditions, python); diff != "" {
		t.Errorf("the Python part takes others: %s", diff)
	}
}

// TestTimer: steps, losses and loader waits of an unmodified script, from one seed.
func TestTimer(t *testing.T) {
	python := needPython(t)
	seed := int64(7)
	var losses [2][]float64
	for i := range losses {
		timer, err := NewTimer(environment(), &seed)
		if err != nil {
			t.Fatal(err)
		}
		defer timer.Close()
		command := exec.Command(python, "testdata/timed.py")
		command.Env = timer.Environment
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		timing, err := timer.Read()
		if err != nil {
			t.Fatal(err)
		}
		// Two epochs of four batches.
		if timing.Steps != 8 || len(timing.StepNs) != 7 || len(timing.WaitNs) != 8 || len(timing.SteadyWaits()) != 6 || timing.Clock != "host" {
			t.Errorf("%+v", timing)
		}
		for _, ns := range timing.SteadyWaits() {
			if ns < 5e6 { // a batch of two items of 3 ms each
				t.Errorf("a wait of %v ns", ns)
			}
		}
		if timing.HostPeakBytes == nil || *timing.HostPeakBytes < 10e6 {
			t.Errorf("host peak %v", timing.HostPeakBytes)
		}
		losses[i] = timing.Losses
	}
	if len(losses[0]) != 8 || !slices.Equal(losses[0], losses[1]) {
		t.Errorf("losses from one seed: %v and %v", losses[0], losses[1])
	}
}
