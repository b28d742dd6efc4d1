package diagnose_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stepline/traceindex/attribute"
	"stepline/traceindex/diagnose"
	"stepline/traceindex/load"
)

// diagnosed diagnoses recorded traces, with the sources in a folder beside them.
func diagnosed(t *testing.T, root string, traces ...string) (*attribute.Attribution, *diagnose.Diagnosis) {
	t.Helper()
	return diagnosedIn(t, "../../testdata/traces/", root, traces...)
}

// diagnosedIn is diagnosed for traces and sources below another folder.
func diagnosedIn(t *testing.T, base, root string, traces ...string) (*attribute.Attribution, *diagnose.Diagnosis) {
	t.Helper()
	paths := make([]string, len(traces))
	for i, p := range traces {
		paths[i] = filepath.Join(base, p)
	}
	run, err := load.Open(context.Background(), paths, load.Options{NoCache: true})
	if err != nil {
		t.Fatal(err)
	}
	src, err := attribute.Directory(filepath.Join(base, root), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close() })
	a, err := attribute.Attribute(context.Background(), run, src)
	if err != nil {
		t.Fatal(err)
	}
	d, err := diagnose.Run(context.Background(), a, diagnose.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	return a, d
}

// scenarios are the recorded runs with what is known of them from how they were made (testdata/traces/README.md).
var scenarios = []struct {
	name, root string
	traces     []string
	classes    []diagnose.Class // any of these
	evidence   []string         // each must be part of one message
	phases     []string         // in order, in the first step of the first rank
}{
	{"gpt", "gpt", []string{"gpt/trace.json.gz"}, []diagnose.Class{diagnose.LaunchBound, diagnose.SyncBound},
		[]string{"train at gpt.py:133 holds the GPU idle", "CausalSelfAttention.forward at gpt.py:24 holds the GPU idle"},
		[]string{"forward GPT", "backward", "forward GPT", "backward", "optimizer AdamW.step", "zero_grad"}},
	{"vision", "vision", []string{"vision/trace.json.gz"}, []diagnose.Class{diagnose.DataStall},
		[]string{"the loader at train.py:22 holds the GPU idle", "Photos.__getitem__ at data.py:39 holds the GPU idle"},
		[]string{"data loading", "forward Net", "backward", "optimizer AdamW.step"}},
	{"vision with workers", "vision", []string{"vision_workers/trace.json.gz"}, []diagnose.Class{diagnose.LaunchBound}, nil,
		[]string{"data loading", "forward Net", "backward", "optimizer AdamW.step"}},
	{"compile", "compile", []string{"compile/trace.json.gz"}, []diagnose.Class{diagnose.Balanced, diagnose.ComputeBound, diagnose.LaunchBound}, nil,
		[]string{"forward OptimizedModule", "backward", "optimizer Adam.step", "zero_grad"}},
	{"Lightning", "lit", []string{"lit/trace.json.gz"}, []diagnose.Class{diagnose.LaunchBound}, nil,
		[]string{"data loading", "forward Sequential", "backward"}},
	{"ddp", "ddp", []string{"ddp/ddp.rank0.trace.json.gz", "ddp/ddp.rank1.trace.json.gz"}, []diagnose.Class{diagnose.CommunicationStall},
		[]string{"rank 0 waits for rank 1"}, []string{"forward DistributedDataParallel", "backward", "optimizer SGD.step"}},
}

func TestScenarios(t *testing.T) {
	for _, c := range scenarios {
		t.Run(c.name, func(t *testing.T) {
			a, d := diagnosed(t, c.root, c.traces...)
			if !contains(c.classes, d.Class) {
				t.Errorf("class %s, want one of %v; shares %+v", d.Class, c.classes, d.Shares)
			}
			var messages []string
			for _, e := range d.Evidence {
				messages = append(messages, e.Message)
			}
			for _, want := range c.evidence {
				if !strings.Contains(strings.Join(messages, "\n"), want) {
					t.Errorf("no evidence says %q; it says\n%s", want, strings.Join(messages, "\n"))
				}
			}
			var ops []string
			for _, p := range d.Steps[0].Phases {
				ops = append(ops, p.Op)
			}
			if !inOrder(ops, c.phases) {
				t.Errorf("phases %q lack %q in this order", ops, c.phases)
			}
			if d.UnknownShare > 0.05 {
				t.Errorf("%.1f %% of the idle time has no cause", 100*d.UnknownShare)
			}
			checkSums(t, a, d)
		})
	}
}

func contains(all []diagnose.Class, c diagnose.Class) bool {
	for _, x := range all {
		if x == c {
			return true
		}
	}
	return false
}

func inOrder(all, want []string) bool {
	i := 0
	for _, s := range all {
		if i < len(want) && s == want[i] {
			i++
		}
	}
	return i == len(want)
}

// checkSums holds the invariants: gaps lie in order inside their step and fill what is not busy, to the nanosecond; phases cover
// the step; the shares sum to 1; no waiting call owes more than it waited.
func checkSums(t *testing.T, a *attribute.Attribution, d *diagnose.Diagnosis) {
	t.Helper()
	for i := range d.Steps {
		s := &d.Steps[i]
		sum, end := s.BusyNs, s.StartNs
		for _, g := range s.Gaps {
			if g.StartNs < end || g.EndNs > s.EndNs || g.DurNs() <= 0 {
				t.Fatalf("rank %d step %d: gap %+v out of order", s.Rank, s.Number, g)
			}
			end = g.EndNs
			sum += g.DurNs()
		}
		if sum != s.DurNs() {
			t.Errorf("rank %d step %d: busy and gaps sum to %d ns of %d", s.Rank, s.Number, sum, s.DurNs())
		}
		if busy := s.ComputeNs + s.CopyNs + s.ExposedCommunicationNs; busy != s.BusyNs {
			t.Errorf("rank %d step %d: compute, copies and communication sum to %d ns of %d busy", s.Rank, s.Number, busy, s.BusyNs)
		}
		at := s.StartNs
		for _, p := range s.Phases {
			if p.StartNs != at {
				t.Errorf("rank %d step %d: phase %q starts %d ns after the one before ended", s.Rank, s.Number, p.Op, p.StartNs-at)
			}
			at = p.EndNs
		}
		if at != s.EndNs {
			t.Errorf("rank %d step %d: phases end %d ns before the step", s.Rank, s.Number, s.EndNs-at)
		}
	}
	sh := d.Shares
	if sum := sh.Data + sh.Communication + sh.Sync + sh.Launch + sh.Copy + sh.Compute + sh.Other; sum < 0.999999 || sum > 1.000001 {
		t.Errorf("shares sum to %f", sum)
	}
	for rank, ix := range a.Run.Ranks {
		for _, s := range a.Syncs(rank) {
			if owed := d.OwedNs(rank, s.Call); owed > ix.DurNs(s.Call) {
				t.Errorf("%s owes %d ns, waited %d", ix.Name(s.Call), owed, ix.DurNs(s.Call))
			}
		}
	}
}

// TestIdleAgreesWithTruth compares the gaps, summed by line, with the idle time that was measured by ranges around every statement.
func TestIdleAgreesWithTruth(t *testing.T) {
	for _, c := range []struct{ root, trace, truth string }{
		{"gpt", "gpt/trace.json.gz", "gpt/truth.json"}, {"vision", "vision/trace.json.gz", "vision/truth.json"},
		{"ddp", "ddp/ddp.rank0.trace.json.gz", "ddp/ddp.rank0.truth.json"},
	} {
		t.Run(c.root, func(t *testing.T) {
			_, d := diagnosed(t, c.root, c.trace)
			data, err := os.ReadFile(filepath.Join("../../testdata/traces", c.truth))
			if err != nil {
				t.Fatal(err)
			}
			var truth struct {
				Lines map[string]struct {
					GPUIdleUs float64 `json:"gpu_idle_us"`
				}
			}
			if err := json.Unmarshal(data, &truth); err != nil {
				t.Fatal(err)
			}
			told := map[string]float64{}
			for i := range d.Steps {
				for _, g := range d.Steps[i].Gaps {
					// What a late host owes to a waiting call stands at that call, not where the host was in the meantime.
					if g.Known && g.Cause != diagnose.CauseSync && g.Cause != diagnose.CauseCopy {
						told[fmt.Sprintf("%s:%d", g.Place.File, g.Place.Line)] += float64(g.DurNs()) / 1e3
					}
				}
			}
			var same, all float64
			for line, l := range truth.Lines {
				all += l.GPUIdleUs
				same += min(l.GPUIdleUs, told[line])
			}
			if same < 0.9*all {
				t.Errorf("%.1f %% of the idle time is on the line where it was measured", 100*same/all)
			}
		})
	}
}

// TestTraceOnly checks the planted trouble that shows without source.
func TestTraceOnly(t *testing.T) {
	for _, c := range []struct {
		root   string
		traces []string
		want   []string // rule at line
	}{
		{"gpt", []string{"gpt/trace.json.gz"}, []string{"TRC09 gpt.py:141", "TRC03"}},
		{"vision", []string{"vision/trace.json.gz"}, []string{"TRC01 train.py:22"}},
		{"ddp", []string{"ddp/ddp.rank0.trace.json.gz", "ddp/ddp.rank1.trace.json.gz"}, []string{"TRC07", "TRC02"}},
	} {
		_, d := diagnosed(t, c.root, c.traces...)
		var told []string
		for _, f := range d.Findings {
			line := f.Rule
			if f.Known {
				line += fmt.Sprintf(" %s:%d", f.Place.File, f.Place.Line)
			}
			told = append(told, line)
		}
		for _, want := range c.want {
			found := false
			for _, line := range told {
				found = found || strings.HasPrefix(line, want)
			}
			if !found {
				t.Errorf("%s: no finding %q among %q", c.root, want, told)
			}
		}
	}
}
