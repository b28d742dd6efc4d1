package lsp

import (
	"slices"
	"sort"
	"sync"

	"stepline/analysis"
	"stepline/pyscan"
	"stepline/rules"
	"stepline/traceindex"
	"stepline/traceindex/diagnose"
)

// loadedTrace is a loaded run as a folder shows it; immutable but for what it remembers.
type loadedTrace struct {
	loaded *analysis.Loaded
	// paths are the files as they were asked for, for reloading.
	paths []string
	// origin is who wanted it; found traces make way for newer ones.
	origin traceOrigin
	byFile map[string]*fileCosts
	cards  sync.Map // *traceindex.LineCost → *card, see cardOf
	// hottestNs is the GPU time of the hottest line of the run.
	hottestNs int64
}

// fileCosts are the costs on one file's lines, as the file was at load.
type fileCosts struct {
	lines        []*traceindex.LineCost // by line
	unattributed []*traceindex.Unattributed
	findings     []*diagnose.Finding // found in the trace alone
	beside       map[int]*besideCard // by line: what other inputs say
	source       func() *pyscan.File // nil model where the text at load is not known
}

func newLoadedTrace(loaded *analysis.Loaded, paths []string, origin traceOrigin) *loadedTrace {
	t := &loadedTrace{loaded: loaded, paths: paths, origin: origin, byFile: map[string]*fileCosts{}}
	of := func(path string) *fileCosts {
		f := t.byFile[path]
		if f == nil {
			f = &fileCosts{source: sync.OnceValue(func() *pyscan.File {
				source, known := loaded.Sources[path]
				if !known {
					return nil
				}
				return pyscan.Parse(path, source)
			})}
			t.byFile[path] = f
		}
		return f
	}
	for i := range loaded.Costs.Lines {
		l := &loaded.Costs.Lines[i]
		f := of(l.File)
		f.lines = append(f.lines, l)
		t.hottestNs = max(t.hottestNs, l.GPUNs())
	}
	for i := range loaded.Costs.Unattributed {
		if u := &loaded.Costs.Unattributed[i]; u.File != "" {
			f := of(u.File)
			f.unattributed = append(f.unattributed, u)
		}
	}
	if loaded.Diagnosis != nil {
		for i := range loaded.Diagnosis.Findings {
			if f := &loaded.Diagnosis.Findings[i]; f.Known && f.Place.File != "" {
				c := of(f.Place.File)
				c.findings = append(c.findings, f)
			}
		}
	}
	t.addBeside(loaded.Beside, of)
	return t
}

// lineView is what a trace says about a document's lines, as they are now.
type lineView struct {
	trace *loadedTrace
	rows  []lineRow // by line
	notes []lineNote
	// said is what the trace alone says about lines: its sentences, by line.
	said map[int][]string
	// beside is what other inputs (Nsight Compute, NCCL logs, memory snapshots) say, by line.
	beside map[int]*besideCard
	// changed are the functions that changed since the trace was loaded.
	changed []*pyscan.Function
}

// lineRow is one line's cost. Lines count from 1.
type lineRow struct {
	line  int
	cost  *traceindex.LineCost
	stale bool
}

// lineNote is time that hangs at a line without being its own: gradient accumulation at backward(), ambiguous time.
type lineNote struct {
	line  int
	what  *traceindex.Unattributed
	stale bool
	// candidates are the lines (as they are now) that ambiguous time may belong to.
	candidates []int
}

func (f *folder) costs() rules.Costs {
	if f.trace == nil {
		return nil
	}
	return f.trace.loaded.RuleCosts()
}

// linesOf is a document's view of its folder's trace, nil where there is none.
func (f *folder) linesOf(d *document, file *pyscan.File) *lineView {
	if f.trace == nil {
		return nil
	}
	costs := f.trace.byFile[d.path]
	if costs == nil {
		return &lineView{trace: f.trace}
	}
	return costs.view(f.trace, file)
}

func (c *fileCosts) view(t *loadedTrace, file *pyscan.File) *lineView {
	v := &lineView{trace: t}
	m := t.loaded.LineMap(file)
	if m == nil { // known by a log or a snapshot alone
		m = &analysis.LineMap{}
		if source := c.source(); source != nil {
			m = analysis.FollowLines(source, file)
		}
	}
	v.changed = m.Changed
	for _, l := range c.lines {
		if line, fresh := m.Line(l.Line); line > 0 {
			v.rows = append(v.rows, lineRow{line: line, cost: l, stale: !fresh})
		}
	}
	slices.SortStableFunc(v.rows, func(a, b lineRow) int { return a.line - b.line })
	for _, u := range c.unattributed {
		v.note(m, u)
	}
	v.addBeside(c, m)
	for _, f := range c.findings {
		if line, fresh := m.Line(f.Place.Line); line > 0 && fresh {
			if v.said == nil {
				v.said = map[int][]string{}
			}
			v.said[line] = append(v.said[line], f.Rule+" "+f.Name+": "+f.Message)
		}
	}
	return v
}

func (v *lineView) note(m *analysis.LineMap, u *traceindex.Unattributed) {
	n := lineNote{what: u}
	for _, c := range u.Candidates {
		line, fresh := m.Line(c)
		if line > 0 {
			n.candidates = append(n.candidates, line)
			n.stale = n.stale || !fresh
		}
	}
	lines := n.candidates
	if u.Line > 0 {
		line, fresh := m.Line(u.Line)
		if line > 0 && !slices.Contains(lines, line) {
			lines = append(slices.Clone(lines), line)
			n.stale = n.stale || !fresh
		}
	}
	for _, line := range lines {
		n.line = line
		v.notes = append(v.notes, n)
	}
}

// between are the rows of lines first to last.
func (v *lineView) between(first, last int) []lineRow {
	if v == nil || len(v.rows) == 0 || last < v.rows[0].line || first > v.rows[len(v.rows)-1].line {
		return nil // as for most functions of a long file, of which a part ran
	}
	from := sort.Search(len(v.rows), func(i int) bool { return v.rows[i].line >= first })
	to := sort.Search(len(v.rows), func(i int) bool { return v.rows[i].line > last })
	return v.rows[from:max(from, to)]
}

// stale tells whether a line stands in a function that changed since the trace was loaded.
func (v *lineView) staleAt(file *pyscan.File, line int) bool {
	if v == nil || file == nil {
		return false
	}
	span := file.LineSpan(line)
	return slices.Contains(v.changed, enclosingDef(file.RunsIn(span.Start+indent(file.Text[span.Start:span.End]))))
}

// enclosingDef is the def (or module) whose frame a function's statements belong to.
func enclosingDef(fn *pyscan.Function) *pyscan.Function {
	for fn != nil && (fn.Comprehension != nil || fn.Value != nil) && fn.Parent != nil {
		fn = fn.Parent
	}
	return fn
}

func indent(line string) int {
	for i := range len(line) {
		if line[i] != ' ' && line[i] != '\t' {
			return i
		}
	}
	return 0
}

// perStep divides a sum over the trace by its steps over all ranks.
func (t *loadedTrace) perStep(ns int64) float64 { return float64(ns) / float64(t.loaded.StepCount()) }

// gpuShare is a per-step GPU time's part of the GPU time of the step: what hints, lenses and the threshold go by.
func (t *loadedTrace) gpuShare(perStepNs float64) float64 {
	return ratio(perStepNs, t.perStep(t.loaded.Costs.Summary.GPUTotalNs))
}

// stepShare is a per-step time's part of the step's duration, 0 where the trace has no steps.
func (t *loadedTrace) stepShare(perStepNs float64) float64 {
	return ratio(perStepNs, float64(t.loaded.StepNs()))
}

func ratio(part, whole float64) float64 {
	if whole <= 0 {
		return 0
	}
	return part / whole
}

// per is what a number is counted by: "a step", or "in the trace" where it has none.
func (t *loadedTrace) per() string {
	if t.loaded.StepNs() <= 0 {
		return "in the trace"
	}
	return "a step"
}
