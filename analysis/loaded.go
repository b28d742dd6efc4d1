package analysis

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"time"

	"stepline/pyscan"
	"stepline/report"
	"stepline/rules"
	"stepline/traceindex"
	"stepline/traceindex/attribute"
	"stepline/traceindex/diagnose"
	"stepline/traceindex/load"
)

// Progress is how far the loading of traces is.
type Progress struct {
	// Stage is "reading", "attributing" or "diagnosing".
	Stage string
	// DoneBytes of TotalBytes of the files as stored were read; both 0 where that is unknown.
	DoneBytes, TotalBytes int64
}

// Loaded is a run with everything computed from it. It is immutable and may be shared by goroutines.
type Loaded struct {
	// Run holds one index per rank.
	Run *traceindex.Run
	// Attribution has every call, launch and moment of the run on source lines, Costs their sums by line; files are relative
	// to the workspace's root.
	Attribution *attribute.Attribution
	Costs       *traceindex.Costs
	// Diagnosis says why the GPU waits, step by step.
	Diagnosis *diagnose.Diagnosis
	// Sources are the texts of the workspace files the costs were put on, as they were at load, by path relative to the
	// root: what lets lines follow later edits.
	Sources map[string]string
	// LoadedAt is when loading ended.
	LoadedAt time.Time
	// Beside is what inputs that are no traces (Nsight Compute, NCCL logs, memory snapshots) say of the run, on its lines; nil
	// without any.
	Beside *report.Beside

	costs rules.Costs
}

// StepNs is the mean step duration in nanoseconds, 0 if the trace has no steps.
func (l *Loaded) StepNs() int64 { return l.Costs.Summary.StepMeanNs }

// StepCount is the number of steps over all ranks, at least 1: what sums are divided by for "per step".
func (l *Loaded) StepCount() int64 {
	s := l.Costs.Summary
	return max(1, int64(s.Steps)*int64(max(1, s.Ranks)))
}

// RuleCosts is what rules ask about prices; nil where nothing is loaded.
func (l *Loaded) RuleCosts() rules.Costs {
	if l == nil {
		return nil
	}
	return l.costs
}

// LoadOptions change how LoadTrace loads. The zero value is good.
type LoadOptions struct {
	// Progress is told how far the loading is, often, from one goroutine at a time; it may be nil.
	Progress func(Progress)
	// Buffer gives the text of a file that is open in an editor, by path relative to the root; it may be nil.
	Buffer func(path string) (*pyscan.File, bool)
	// NoCache reads traces anew and keeps no index of them.
	NoCache bool
	// CostsOnly leaves out the diagnosis and the prices, for those who want lines alone: Loaded.Diagnosis and RuleCosts are nil.
	CostsOnly bool
	// BesideAlone accepts inputs without any trace among them: Loaded then has no ranks, and Beside says what they say.
	BesideAlone bool
	// Serving tells that this process answers somebody meanwhile; see load.Options.
	Serving bool
}

// ErrTooMuchMemory is returned when loading would need more than trace.maxMemory.
var ErrTooMuchMemory = errors.New("loading this trace needs more memory than trace.maxMemory allows")

// LoadTrace opens traces (files, folders, globs, relative to the root) as one run and puts its costs on the workspace's
// lines. What can be used is used: with a usable run the error tells what was not; without one Loaded is nil. When ctx ends
// it returns ctx's error soon.
func (w *Workspace) LoadTrace(ctx context.Context, traces []string, options LoadOptions) (*Loaded, error) {
	tell := options.Progress
	if tell == nil {
		tell = func(Progress) {}
	}
	ctx, stop := w.boundMemory(ctx)
	defer stop()
	paths := make([]string, len(traces))
	for i, t := range traces {
		paths[i] = t
		if !filepath.IsAbs(t) && w.root != "" {
			paths[i] = filepath.Join(w.root, t)
		}
	}
	run, partial := load.Open(ctx, paths, load.Options{NoCache: options.NoCache, BesideAlone: options.BesideAlone, Serving: options.Serving, Progress: func(done, total int64) {
		tell(Progress{Stage: "reading", DoneBytes: done, TotalBytes: total})
	}})
	if run == nil {
		if cause := context.Cause(ctx); cause != nil {
			return nil, cause
		}
		return nil, partial
	}
	tell(Progress{Stage: "attributing"})
	sources, err := w.sources(options.Buffer)
	if err != nil {
		return nil, err
	}
	defer sources.Close()
	ran, err := w.newRanSources(ctx, run, sources)
	var a *attribute.Attribution
	if err == nil {
		a, err = attribute.Attribute(ctx, run, ran)
	}
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return nil, cause
		}
		return nil, fmt.Errorf("attributing %s: %w", strings.Join(traces, ", "), err)
	}
	followEdits(a, ran)
	l := &Loaded{Run: run, Attribution: a, Costs: a.Costs(), Sources: map[string]string{}, LoadedAt: time.Now()}
	for path, file := range a.Files {
		l.Sources[path] = file.Text
	}
	if err := w.joinBeside(ctx, l, ran); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return nil, cause
		}
		partial = errors.Join(partial, err)
	}
	if len(run.Ranks) == 0 && l.Beside == nil {
		return nil, noTrace(run, partial)
	}
	if options.CostsOnly {
		return l, partial
	}
	tell(Progress{Stage: "diagnosing"})
	if l.Diagnosis, err = diagnose.Run(ctx, a, diagnose.Settings{}); err != nil {
		return nil, context.Cause(ctx)
	}
	if l.Diagnosis.Class != diagnose.Unknown { // without a word of the GPU nothing has a price, and nothing is refuted
		l.costs = newTraceCosts(l)
	}
	return l, partial
}

// sources are the workspace's files for attribution; a workspace of loose files has none.
func (w *Workspace) sources(buffer func(string) (*pyscan.File, bool)) (*attribute.Workspace, error) {
	root := w.root
	if root == "" {
		root = "."
	}
	mappings := make([]attribute.PathMapping, 0, len(w.settings.PathMappings))
	for _, m := range w.settings.PathMappings {
		mappings = append(mappings, attribute.PathMapping{From: m.From, To: w.mappingTarget(m.To)})
	}
	sources, err := attribute.Directory(root, mappings)
	if err != nil {
		return nil, err
	}
	sources.Open = buffer
	return sources, nil
}

// mappingTarget makes a mapping's target relative to the root: users write `${workspaceFolder}/src`, an absolute path or "src".
func (w *Workspace) mappingTarget(to string) string {
	to = strings.TrimPrefix(strings.TrimPrefix(to, "${workspaceFolder}"), "/")
	if abs := "/" + to; w.root != "" && !strings.HasPrefix(to, ".") {
		if rel, err := filepath.Rel(w.root, abs); err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
			to = rel
		}
	}
	if to == "." {
		return ""
	}
	return strings.TrimSuffix(filepath.ToSlash(to), "/")
}

// boundMemory ends ctx when the process holds more than trace.maxMemory over what it held before.
func (w *Workspace) boundMemory(ctx context.Context) (context.Context, func()) {
	limit := w.settings.MaxMemoryBytes
	if limit <= 0 {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	heap := func() int64 { // runtime.ReadMemStats would stop the whole program twenty times a second
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		metrics.Read(sample)
		return int64(sample[0].Value.Uint64())
	}
	before := heap()
	done := make(chan struct{})
	go func() {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-ctx.Done():
				return
			case <-tick.C:
				if heap()-before > limit {
					debug.FreeOSMemory()
					if heap()-before > limit {
						cancel(ErrTooMuchMemory)
						return
					}
				}
			}
		}
	}()
	return ctx, func() { close(done); cancel(nil) }
}
