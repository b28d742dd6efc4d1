package analysis

import (
	"fmt"
	"strings"
	"sync"

	"stepline/pyscan"
	"stepline/rules"
	"stepline/traceindex"
	"stepline/traceindex/diagnose"
)

// traceCosts answers the rules' questions from a loaded run. It is safe for concurrent use.
type traceCosts struct {
	loaded *Loaded
	byLine map[string]map[int]*traceindex.LineCost
	loader rules.LoaderEvidence
	prices *diagnose.Prices

	mu      sync.Mutex
	sources map[string]*pyscan.File // at load, parsed when first asked for
	follow  map[string]*follower
	maps    map[*pyscan.File]*LineMap
	// known are the prices asked for before: they cost a walk over the run's events and are asked for at every keystroke.
	known map[string]knownPrice
}

// knownPrice is an answer of price.
type knownPrice struct {
	price    diagnose.Price
	observed bool
}

func newTraceCosts(l *Loaded) *traceCosts {
	c := &traceCosts{loaded: l, byLine: map[string]map[int]*traceindex.LineCost{}, loader: loaderEvidence(l.Run), prices: diagnose.NewPrices(l.Attribution, l.Diagnosis),
		sources: map[string]*pyscan.File{}, follow: map[string]*follower{}, maps: map[*pyscan.File]*LineMap{}, known: map[string]knownPrice{}}
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
	follow := c.follow[file.Path]
	if follow == nil {
		follow = newFollower(source)
		c.follow[file.Path] = follow
	}
	m := follow.to(file)
	c.maps[file] = m
	return m
}

// LineMap maps the lines of a file at load to those of the file as it is now, nil where the trace did not run it. The map of each
// version of a file is made once.
func (l *Loaded) LineMap(file *pyscan.File) *LineMap {
	if c, ok := l.costs.(*traceCosts); ok {
		return c.lineMap(file)
	}
	return nil
}

// Measure implements rules.Costs: it sums what the lines of the span cost, as they stood when the trace was loaded. Code
// that changed since was not measured.
func (c *traceCosts) Measure(q rules.Question) rules.Cost {
	m := c.lineMap(q.File)
	if m == nil {
		return rules.Cost{}
	}
	var lines []diagnose.Line
	seen := map[int]bool{}
	for line := q.File.Line(q.Span.Start); line <= q.File.Line(max(q.Span.Start, q.Span.End-1)); line++ {
		old, fresh := m.OldLine(statementLine(q.File, line))
		if seen[old] || !fresh || c.byLine[q.File.Path][old] == nil {
			continue
		}
		seen[old] = true
		lines = append(lines, diagnose.Line{File: q.File.Path, Line: old})
	}
	price, observed := c.price(q, lines)
	if !observed {
		return rules.Cost{}
	}
	if q.HostStays {
		price.LowNs = int64(float64(price.LowNs) * c.loaded.Diagnosis.BusyShare())
	}
	price.LowNs = int64(float64(price.LowNs) * (1 - q.Keeps))
	per := func(ns int64) int64 { return ns / c.loaded.StepCount() }
	return rules.Cost{Observed: true, WaitNs: per(price.WaitNs), LowNs: per(price.LowNs), HighNs: max(per(price.LowNs), per(price.HighNs)), Evidence: evidence(q.Kind, price, c.loaded.StepCount())}
}

// maxKnownPrices bounds the remembered prices.
const maxKnownPrices = 1 << 14

// price asks the diagnosed run, once for each question.
func (c *traceCosts) price(q rules.Question, lines []diagnose.Line) (diagnose.Price, bool) {
	key := fmt.Sprintf("%v %q %v %v %v", q.Kind, q.Ops, q.Anywhere, q.AbsenceProvesNothing, lines)
	c.mu.Lock()
	known, found := c.known[key]
	c.mu.Unlock()
	if !found {
		known.price, known.observed = c.ask(q, lines)
		c.mu.Lock()
		if len(c.known) >= maxKnownPrices {
			clear(c.known)
		}
		c.known[key] = known
		c.mu.Unlock()
	}
	return known.price, known.observed
}

// ask works out a price. Lines that did not run in the trace have no price; what stands for the whole run (a loader's or
// optimizer's constructor, a setting) is priced by the run's events if its file ran.
func (c *traceCosts) ask(q rules.Question, lines []diagnose.Line) (diagnose.Price, bool) {
	switch q.Kind {
	case rules.PriceData:
		return c.prices.Loader(), c.loader != rules.LoaderUnknown
	case rules.PriceKernels, rules.PriceComm:
		if q.Anywhere || len(lines) == 0 && (len(q.Ops) > 0 || q.Kind == rules.PriceComm) {
			price := c.prices.Communication(nil)
			if q.Kind == rules.PriceKernels {
				price = c.prices.AllKernels(q.Ops)
			}
			return price, price.Count > 0
		}
	}
	if len(lines) == 0 {
		return diagnose.Price{}, false
	}
	switch q.Kind {
	case rules.PriceSync:
		return c.prices.Sync(lines), true
	case rules.PriceHost:
		price := c.prices.Host(lines, q.Ops)
		return price, price.Count > 0 || !q.AbsenceProvesNothing
	case rules.PriceCopy:
		price := c.prices.Copies(lines, q.Ops)
		if len(q.Ops) == 0 { // the host's work on the statement goes as well
			host := c.prices.Host(lines, nil)
			price.LowNs, price.HighNs = max(price.LowNs, host.LowNs), price.HighNs+host.HighNs
		}
		return price, true
	case rules.PriceComm:
		return c.prices.Communication(lines), true
	}
	return c.prices.Kernels(lines, q.Ops), true
}

// evidence says what was measured, where that is more than a time.
func evidence(kind rules.PriceKind, price diagnose.Price, steps int64) string {
	if kind != rules.PriceCopy || price.Count == 0 || price.Bytes == 0 {
		return ""
	}
	return fmt.Sprintf("%d copies of %.2f MB in all a step", int64(price.Count)/steps, float64(price.Bytes/steps)/1e6)
}

// statementLine is the first line of the innermost statement with source on a line: what costs are counted on.
func statementLine(file *pyscan.File, line int) int {
	statements := file.StatementsAtLine(line)
	if len(statements) == 0 {
		return line
	}
	return file.StatementLine(statements[len(statements)-1])
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
