package analysis

import (
	"strings"
	"sync"

	"stepline/pyscan"
	"stepline/rules"
	"stepline/traceindex"
)

// traceCosts answers the rules' questions from a loaded run. It is safe for concurrent use.
type traceCosts struct {
	loaded *Loaded
	byLine map[string]map[int]*traceindex.LineCost
	loader rules.LoaderEvidence

	mu      sync.Mutex
	sources map[string]*pyscan.File // at load, parsed when first asked for
	maps    map[*pyscan.File]*LineMap
}

func newTraceCosts(l *Loaded) *traceCosts {
	c := &traceCosts{loaded: l, byLine: map[string]map[int]*traceindex.LineCost{}, loader: loaderEvidence(l.Run),
		sources: map[string]*pyscan.File{}, maps: map[*pyscan.File]*LineMap{}}
	for path, file := range l.Attribution.Files {
		c.sources[path] = file
	}
	for i := range l.Costs.Lines {
		line := &l.Costs.Lines[i]
		if c.byLine[line.File] == nil {
			c.byLine[line.File] = map[int]*traceindex.LineCost{}
		}
		c.byLine[line.File][line.Line] = line
	}
	return c
}

// StepNs implements rules.Costs.
func (c *traceCosts) StepNs() int64 { return c.loaded.StepNs() }

// Loader implements rules.Costs.
func (c *traceCosts) Loader() rules.LoaderEvidence { return c.loader }

// maxLineMaps bounds the remembered maps: one a version of a file.
const maxLineMaps = 64

// lineMap maps the lines at load to those of a file as it is now.
func (c *traceCosts) lineMap(file *pyscan.File) *LineMap {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m := c.maps[file]; m != nil {
		return m
	}
	source := c.sources[file.Path]
	if source == nil {
		return nil
	}
	if len(c.maps) >= maxLineMaps {
		clear(c.maps)
	}
	m := FollowLines(source, file)
	c.maps[file] = m
	return m
}

// Measure implements rules.Costs: it sums what the lines of the span cost, as they stood when the trace was loaded. Code
// that changed since was not measured.
func (c *traceCosts) Measure(q rules.Question) rules.Cost {
	m := c.lineMap(q.File)
	if m == nil {
		return rules.Cost{}
	}
	var out rules.Cost
	seen := map[int]bool{}
	for line := q.File.Line(q.Span.Start); line <= q.File.Line(max(q.Span.Start, q.Span.End-1)); line++ {
		statement := statementLine(q.File, line)
		old, fresh := m.OldLine(statement)
		cost := c.byLine[q.File.Path][old]
		if seen[old] || !fresh || cost == nil {
			continue
		}
		seen[old] = true
		c.add(&out, q.Kind, cost)
	}
	return out
}

// statementLine is the first line of the innermost statement with source on a line: what costs are counted on.
func statementLine(file *pyscan.File, line int) int {
	statements := file.StatementsAtLine(line)
	if len(statements) == 0 {
		return line
	}
	return file.StatementLine(statements[len(statements)-1])
}

func (c *traceCosts) add(out *rules.Cost, kind rules.PriceKind, cost *traceindex.LineCost) {
	per := func(ns int64) int64 { return ns / c.loaded.StepCount() }
	out.Observed = true
	switch kind {
	case rules.PriceSync:
		out.WaitNs += per(cost.SyncNs)
		out.LowNs += per(cost.BubbleNs)
		out.HighNs += per(max(cost.BubbleNs, cost.GPUIdleNs))
	case rules.PriceHost, rules.PriceData:
		out.LowNs += per(cost.GPUIdleNs)
		out.HighNs += per(cost.GPUIdleNs)
	case rules.PriceCopy:
		out.LowNs += per(min(cost.CopyNs, cost.GPUNs()))
		out.HighNs += per(max(cost.CopyNs, cost.SyncNs))
	case rules.PriceKernels, rules.PriceComm:
		out.LowNs += per(cost.GPUNs())
		out.HighNs += per(cost.GPUNs())
	}
}

// loaderEvidence reads which DataLoader iterators ran from the profiler's ranges.
func loaderEvidence(run *traceindex.Run) rules.LoaderEvidence {
	single, workers := false, false
	for _, ix := range run.Ranks {
		for _, name := range ix.Names {
			if !strings.HasPrefix(name, "enumerate(DataLoader)#") {
				continue
			}
			single = single || strings.Contains(name, "_SingleProcessDataLoaderIter")
			workers = workers || strings.Contains(name, "_MultiProcessingDataLoaderIter")
		}
	}
	switch {
	case single && workers:
		return rules.LoaderMixed
	case single:
		return rules.LoaderSingleProcess
	case workers:
		return rules.LoaderWorkers
	}
	return rules.LoaderUnknown
}
