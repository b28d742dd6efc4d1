package recorder

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func sha(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// TestEarlyEnds: a script that ends inside the window gets the whole steps until then, with its own exit code.
func TestEarlyEnds(t *testing.T) {
	for _, test := range []struct {
		name  string
		args  []string
		code  int
		steps []string
		says  string
	}{
		{"runs out", []string{"5"}, 0, []string{"ProfilerStep#3", "ProfilerStep#4"}, "steps 3 to 4 of the 5 asked for, because the script ended"},
		{"raises", []string{"9", "raise"}, 1, []string{"ProfilerStep#3", "ProfilerStep#4"}, "because the script ended"},
		{"exits", []string{"9", "exit"}, 7, []string{"ProfilerStep#3", "ProfilerStep#4"}, "because the script ended"},
		{"within the first step", []string{"3"}, 0, []string{"ProfilerStep#3"}, "a part of step 3 of the 5 asked for"},
		{"before the window", []string{"2"}, 0, nil, "ended after 2 optimizer steps and recording starts after 3"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := record(t, Options{}, append([]string{"testdata/loop.py"}, test.args...)...)
			var exit *ExitError
			var nothing *NothingRecordedError
			switch {
			case errors.As(r.failure, &exit):
				if exit.Code != test.code {
					t.Errorf("exit code %d, the script's is %d", exit.Code, test.code)
				}
			case errors.As(r.failure, &nothing):
				if test.steps != nil {
					t.Error(r.failure)
				}
			case r.failure != nil || test.code != 0:
				t.Errorf("%v, the script's exit code is %d", r.failure, test.code)
			}
			if !strings.Contains(r.err, test.says) {
				t.Errorf("does not say %q", test.says)
			}
			if test.steps == nil {
				if nothing == nil || !strings.Contains(nothing.Reason, test.says) || len(r.files(t)) > 0 {
					t.Errorf("%v, files %v", r.failure, r.files(t))
				}
				return
			}
			events := r.events(t, "loop.trace.json.gz")
			if diff := cmp.Diff(test.steps, steps(events)); diff != "" {
				t.Error(diff)
			}
			if len(r.calls(t, "loop.trace.callers.json.gz")) == 0 || r.sources(t, "loop.trace.sources.json.gz").Steps.Complete {
				t.Error("call lines missing, or an early end called complete")
			}
		})
	}
}

// TestSignals: a signal ends the script as it would without the recorder.
func TestSignals(t *testing.T) {
	t.Run("terminated", func(t *testing.T) {
		r := record(t, Options{}, "testdata/loop.py", "9", "kill")
		var exit *ExitError
		if !errors.As(r.failure, &exit) || exit.Code != 128+15 {
			t.Errorf("%v", r.failure)
		}
	})
	t.Run("interrupted", func(t *testing.T) {
		ctx, interrupt := context.WithCancel(context.Background())
		defer interrupt()
		folder := t.TempDir()
		reader, writer := io.Pipe()
		var told strings.Builder
		finished := make(chan error, 1)
		python := needPython(t)
		go func() {
			finished <- Run(ctx, Options{OutDir: folder, Out: writer, Err: &told, In: strings.NewReader(""), Env: environment()},
				[]string{python, "testdata/loop.py", "9", "wait"})
			writer.Close()
		}()
		if line, err := bufio.NewReader(reader).ReadString('\n'); line != "waiting\n" {
			t.Fatalf("the script said %q, %v", line, err)
		}
		interrupt()
		go io.Copy(io.Discard, reader)
		var exit *ExitError
		if err := <-finished; !errors.As(err, &exit) || exit.Code != 128+2 && exit.Code != 1 {
			t.Errorf("%v", err)
		}
		if !strings.Contains(told.String(), "KeyboardInterrupt") {
			t.Errorf("no KeyboardInterrupt in the script: %s", told.String())
		}
		r := ran{folder: folder}
		if got := steps(r.events(t, "loop.trace.json.gz")); !slices.Equal(got, []string{"ProfilerStep#3", "ProfilerStep#4"}) {
			t.Errorf("steps %v", got)
		}
	})
}

func TestChildren(t *testing.T) {
	for _, who := range []string{"parent", "child"} {
		t.Run(who+" trains", func(t *testing.T) {
			r := record(t, Options{Steps: 2}, "testdata/children.py", who)
			if r.failure != nil {
				t.Fatal(r.failure)
			}
			if got := r.files(t); len(got) != 3 {
				t.Errorf("one process trains; recorded %v", got)
			}
			if got := steps(r.events(t, "children.trace.json.gz")); len(got) != 2 {
				t.Errorf("steps %v", got)
			}
		})
	}
}

// TestRanks: one recording a rank. (Debian's torchrun 1.13 does not run on Python 3.11; the lab's DDP and FSDP recordings were
// made under torchrun 2.11.)
func TestRanks(t *testing.T) {
	r := record(t, Options{Steps: 2}, "testdata/launch.py", freePort(t), "testdata/ranks.py")
	if r.failure != nil {
		t.Fatal(r.failure)
	}
	var want []string
	for rank := range 2 {
		stem := fmt.Sprintf("ranks.rank%d.trace", rank)
		want = append(want, stem+".callers.json.gz", stem+".json.gz", stem+".sources.json.gz")
		s := r.sources(t, stem+".sources.json.gz")
		if s.Rank == nil || *s.Rank != rank || s.WorldSize == nil || *s.WorldSize != 2 || s.LocalRank == nil || *s.LocalRank != rank {
			t.Errorf("rank %d: %+v", rank, s)
		}
		if got := steps(r.events(t, stem+".json.gz")); len(got) != 2 {
			t.Errorf("rank %d: steps %v", rank, got)
		}
	}
	if diff := cmp.Diff(want, r.files(t)); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(r.err, "recorded 2 traces") {
		t.Error("the summary does not count the ranks")
	}
}

// TestScriptsOwnProfiler: it goes first, keeps working, and the recorder says what it does about it.
func TestScriptsOwnProfiler(t *testing.T) {
	for _, test := range []struct {
		name, start, stop string
		steps             []string
		says              string
	}{
		{"in the window", "5", "7", []string{"ProfilerStep#3", "ProfilerStep#4"}, "because the script started its own profiler at"},
		{"in the warm-up", "1", "3", []string{"ProfilerStep#5", "ProfilerStep#6", "ProfilerStep#7"}, "the script runs its own profiler"},
		{"after the window", "8", "9", []string{"ProfilerStep#3", "ProfilerStep#4", "ProfilerStep#5"}, "steps 3 to 5"},
		{"throughout", "0", "99", nil, "the script runs its own profiler"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := record(t, Options{Steps: 3}, "testdata/profiled.py", test.start, test.stop)
			if !strings.Contains(r.err, test.says) {
				t.Errorf("does not say %q", test.says)
			}
			if test.stop != "99" && !strings.Contains(r.out, "own profiler saw 3 forwards") && !strings.Contains(r.out, "own profiler saw 2 forwards") {
				t.Error("the script's own profiler did not work")
			}
			if test.steps == nil {
				var nothing *NothingRecordedError
				if !errors.As(r.failure, &nothing) || !strings.Contains(nothing.Reason, "own profiler") {
					t.Errorf("%v", r.failure)
				}
				return
			}
			if r.failure != nil {
				t.Fatal(r.failure)
			}
			if diff := cmp.Diff(test.steps, steps(r.events(t, "profiled.trace.json.gz"))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestRecorderFailures: nothing that goes wrong in the recorder reaches the script.
func TestRecorderFailures(t *testing.T) {
	t.Run("the output folder goes away", func(t *testing.T) {
		folder := filepath.Join(t.TempDir(), "recorded")
		// A file where the folder was: writing fails for root too.
		script := fmt.Sprintf("import shutil, sys; shutil.rmtree(%q); open(%q, 'w').close(); sys.argv[1:] = ['9']; exec(open('testdata/loop.py').read())", folder, folder)
		r := record(t, Options{OutDir: folder, Steps: 2}, "-c", script)
		var nothing *NothingRecordedError
		if !errors.As(r.failure, &nothing) || !strings.Contains(r.out, "profiling None hooked False") {
			t.Errorf("%v", r.failure)
		}
		if got := strings.Count(r.err, "stepline record:"); got != 1 {
			t.Errorf("%d lines about it", got)
		}
	})
	t.Run("a torch that cannot be hooked", func(t *testing.T) {
		fake := t.TempDir()
		if err := os.WriteFile(filepath.Join(fake, "torch.py"), []byte("__version__ = '0.1'\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		r := record(t, Options{Env: environment("PYTHONPATH=" + fake)}, "-c", "import torch; print('trained with', torch.__version__)")
		var nothing *NothingRecordedError
		if !errors.As(r.failure, &nothing) || !strings.HasPrefix(nothing.Reason, "cannot attach to torch 0.1") {
			t.Errorf("%v", r.failure)
		}
		if r.out != "trained with 0.1\n" || !strings.Contains(r.err, "not recording: cannot attach to torch 0.1") {
			t.Errorf("%v", r.failure)
		}
	})
}

func TestNothingToRecord(t *testing.T) {
	for _, test := range []struct {
		name string
		args []string
		says string
	}{
		{"no torch", []string{"-c", "print(1)"}, "no process of the command imported torch"},
		{"isolated", []string{"-I", "-c", "print(1)"}, "shut out"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := record(t, Options{}, test.args...)
			var nothing *NothingRecordedError
			if !errors.As(r.failure, &nothing) || !strings.Contains(nothing.Reason, test.says) || r.out != "1\n" {
				t.Errorf("%v", r.failure)
			}
		})
	}
}

func TestWrongUse(t *testing.T) {
	occupied := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(occupied, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name    string
		options Options
		args    []string
		says    string
	}{
		{"no command", Options{}, nil, "give it after `--`"},
		{"a script as program", Options{}, []string{"train.py"}, "stepline record -- python train.py"},
		{"no such program", Options{}, []string{"no-such-python", "train.py"}, "no-such-python"},
		{"negative steps", Options{Steps: -1}, []string{"true"}, "record 1 or more"},
		{"a snapshot of a watched run", Options{Snapshot: true, Watch: &Watch{}}, []string{"true"}, "leave out --snapshot"},
		{"a snapshot below nsys", Options{Snapshot: true, Range: true}, []string{"true"}, "leave out --snapshot"},
		{"a file as folder", Options{OutDir: occupied}, []string{"true"}, "output folder"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := exec.LookPath("true"); err != nil {
				t.Skip(err)
			}
			r := recordCommand(t, test.options, test.args...)
			if r.failure == nil || !strings.Contains(r.failure.Error(), test.says) {
				t.Errorf("%v does not say %q", r.failure, test.says)
			}
		})
	}
}

func TestFolderWithAnotherRecording(t *testing.T) {
	got := summary(t.TempDir(), []string{"a.trace.json.gz"})
	if strings.Contains(got, "also holds") {
		t.Error(got)
	}
	folder := filepath.Join(t.TempDir(), "with space")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.rank0.trace.json.gz", "a.rank1.trace.json.gz", "a.rank2.trace.json.gz"} {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got = summary(folder, []string{"a.rank0.trace.json.gz", "a.rank1.trace.json.gz"})
	if !strings.Contains(got, "also holds a.rank2.trace.json.gz of another recording") || !strings.Contains(got, "stepline lines '"+folder+"'") {
		t.Error(got)
	}
}

func TestReadSources(t *testing.T) {
	for text, says := range map[string]string{
		`{"schema": 2}`: "schema 2", `{`: "unexpected EOF", "\x1f\x8bxx": "unexpected EOF",
		`{"schema": 1, "files": [{"path": "` + strings.Repeat("x", maxSourcesBytes): "more than 67108864 bytes",
	} {
		if _, err := ReadSources(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.60q: %v", text, err)
		}
	}
}
