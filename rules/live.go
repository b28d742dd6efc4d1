package rules

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"stepline/pyscan"
)

// Live lints a file that is being typed into: RunLive checks all of it once, Edited then only the definitions that an edit
// changes. It is used by one goroutine at a time.
type Live struct {
	facts    *Facts
	list     []*Rule // those that the configuration selects for the file
	catalog  []*Rule
	config   Config
	findings []Finding
	// footprints are those of definitions edited before, by their places.
	footprints map[pyscan.Span]string
	// fileWide are the ignore comments that speak for the whole file.
	fileWide []*suppression
}

// RunLive is Run that goes on: edits of the file can be linted by what it found.
func RunLive(list []*Rule, target Target, config Config) (Result, *Live) {
	facts := newFacts(target, config)
	l := &Live{facts: facts, catalog: list, config: config}
	var found []Finding
	for _, r := range list {
		if !config.Enabled(r, target.File.Path) {
			continue
		}
		l.list = append(l.list, r)
		if facts.applies(r) {
			runRule(r, facts, &found)
		}
	}
	comments := suppressionsOf(facts.Tree, pyscan.Span{Start: 0, End: len(target.File.Text)})
	for _, c := range comments {
		if c.whole {
			l.fileWide = append(l.fileWide, c)
		}
	}
	l.findings = l.finish(facts, comments, comments, found)
	return Result{Findings: l.findings, Depends: facts.depends()}, l
}

// close gives back what a lint of other files can use.
func (l *Live) close() { l.facts.project.giveBack(l.facts.analysis) }

// finish applies suppressions, reports those of own that were of no use, prices the findings and sorts them.
func (l *Live) finish(facts *Facts, comments, own []*suppression, found []Finding) []Finding {
	found = suppress(facts.Tree, comments, found)
	if l.config.Enabled(unusedSuppression, facts.File.Path) {
		found = append(found, unusedFindings(facts.Tree, own, l.catalog, func(r *Rule) bool { return slices.Contains(l.list, r) })...)
	}
	for i := range found {
		if s := l.config.severityOf(found[i].Rule); s != SeverityDefault {
			found[i].Severity = s
		}
	}
	if facts.Costs != nil {
		below := l.config.RefutedBelow
		if below == 0 {
			below = DefaultRefutedBelow
		}
		price(facts.Costs, below, found)
	}
	SortFindings(found)
	return found
}

// File is the model that the last full check was of: edits are patches of it.
func (l *Live) File() *pyscan.File { return l.facts.File }

// Edited is what a file has to show after an edit.
type Edited struct {
	// Findings are those of the file. Fixes whose edits may be of another text than this one are left out.
	Findings []Finding
	// Provisional: what is being typed does not parse, so that nobody can say what it is going to mean to the code around it. The
	// findings there are those before the edit.
	Provisional bool
}

// Edited lints the file with a patch of File. The findings in the changed definitions are found anew; the others are those of the
// last full check, moved. ok is false where the edit may change what is found elsewhere: then only a full check can tell.
func (l *Live) Edited(patch *pyscan.Patch) (edited Edited, ok bool) {
	if patch.Base != l.facts.File {
		return Edited{}, false
	}
	e := newEdit(l.facts.index, patch)
	facts := l.factsOf(e)
	var own []*suppression
	for _, part := range patch.Parts {
		own = append(own, suppressionsOf(facts.Tree, part.New)...)
	}
	if slices.ContainsFunc(own, func(c *suppression) bool { return c.whole }) {
		return Edited{}, false
	}
	if !l.sameFootprint(e, facts) {
		if edited.Provisional = len(patch.File.SyntaxErrors) > 0; !edited.Provisional {
			return Edited{}, false
		}
	}
	var found []Finding
	for _, r := range l.list {
		if !facts.applies(r) {
			continue
		}
		if tryRule(r, facts, &found) != nil {
			return Edited{}, false
		}
	}
	found = e.placed(found)
	found = l.finish(facts, append(slices.Clone(l.fileWide), own...), own, found)
	out := make([]Finding, 0, len(l.findings)+len(found))
	e.room = roomFor(l.findings)
	for i := range l.findings {
		if f, stays := e.carried(&l.findings[i]); stays {
			f.Carried = i + 1
			out = append(out, f)
		}
	}
	out = append(out, found...)
	if e.lost && !edited.Provisional {
		return Edited{}, false
	}
	SortFindings(out)
	edited.Findings = out
	return edited, true
}

// factsOf are the facts about changed definitions.
func (l *Live) factsOf(e *edit) *Facts {
	before := l.facts
	project := before.project.withEdit(e)
	e.index.ready()
	f := &Facts{Tree: e.index.tree, Torch: before.Torch, Costs: before.Costs, index: e.index, before: before, project: project, analysis: newEditAnalysis(project, before.analysis)}
	f.inTests = before.inTests
	f.usesGPU = before.usesGPU || e.index.namesGPU
	f.torch = before.torch || e.index.torch && (e.index.mentions("torch", "lightning") || !e.index.mentions(otherFrameworks...))
	return f
}

// placed are the findings in changed definitions, with what they say of other places of the file where those are now.
func (e *edit) placed(found []Finding) []Finding {
	out := found[:0]
	for _, f := range found {
		if f.File == e.index.file && e.patch.Holds(f.Span) {
			e.place(&f)
			out = append(out, f)
		}
	}
	return out
}

func (e *edit) place(f *Finding) {
	f.Related = slices.Clone(f.Related)
	for i := range f.Related {
		if r := &f.Related[i]; r.File == e.base.file {
			r.File = e.index.file
			r.Span, _ = e.moved(r.Span)
			e.lost = e.lost || r.Span.Start < 0
		}
	}
	f.Related = slices.DeleteFunc(f.Related, func(r Related) bool { return r.Span.Start < 0 })
	f.Fixes = slices.DeleteFunc(slices.Clone(f.Fixes), func(x Fix) bool {
		return slices.ContainsFunc(x.Edits, func(t TextEdit) bool { return t.File != e.index.file || !e.patch.Holds(t.Span) })
	})
}

// moved is where a span of the file before is now; its start is −1, and ok false, where it is gone.
func (e *edit) moved(s pyscan.Span) (now pyscan.Span, ok bool) {
	start, ok1 := e.patch.ToNew(s.Start)
	end, ok2 := e.patch.ToNew(max(s.Start, s.End-1))
	if !ok1 || !ok2 {
		return pyscan.Span{Start: -1, End: -1}, false
	}
	return pyscan.Span{Start: start, End: max(start, end+s.End-max(s.Start, s.End-1))}, true
}

// carried is a finding of the last full check after the edit; false for what lay in the changed definitions.
func (e *edit) carried(before *Finding) (f Finding, ok bool) {
	f = *before
	base, now := e.base.file, e.index.file
	if f.File == base {
		if f.Span, ok = e.moved(f.Span); !ok || e.patch.Replaces(before.Span.Start) {
			return f, false
		}
		f.File = now
	}
	if f.MeasuredFile == nil && f.Measured != (pyscan.Span{}) {
		f.Measured, _ = e.moved(f.Measured)
	}
	f.Related = e.carriedRelated(before.Related)
	f.Fixes = e.carriedFixes(before.Fixes)
	f.Message = e.renumber(f.Message)
	return f, true
}

func (e *edit) carriedRelated(before []Related) []Related {
	from := len(e.room.related)
	for _, r := range before {
		if r.File == e.base.file {
			r.File = e.index.file
			var ok bool
			if r.Span, ok = e.moved(r.Span); !ok {
				e.lost = true
				continue
			}
		}
		e.room.related = append(e.room.related, r)
	}
	return cut(e.room.related, from)
}

func (e *edit) carriedFixes(before []Fix) []Fix {
	fixes := len(e.room.fixes)
	for _, x := range before {
		from := len(e.room.edits)
		for _, t := range x.Edits {
			if t.File == e.base.file {
				t.File = e.index.file
				var ok bool
				if t.Span, ok = e.moved(t.Span); !ok {
					break
				}
			}
			e.room.edits = append(e.room.edits, t)
		}
		if edits := cut(e.room.edits, from); len(edits) == len(x.Edits) {
			x.Edits = edits
			e.room.fixes = append(e.room.fixes, x)
		}
	}
	return cut(e.room.fixes, fixes)
}

// findingRoom is where the lists of carried findings lie, one behind the other: hundreds of them are made with every keystroke.
type findingRoom struct {
	related []Related
	fixes   []Fix
	edits   []TextEdit
}

// roomFor has room for the lists of findings.
func roomFor(findings []Finding) (r findingRoom) {
	related, fixes, edits := 0, 0, 0
	for i := range findings {
		related += len(findings[i].Related)
		fixes += len(findings[i].Fixes)
		for _, x := range findings[i].Fixes {
			edits += len(x.Edits)
		}
	}
	return findingRoom{make([]Related, 0, related), make([]Fix, 0, fixes), make([]TextEdit, 0, edits)}
}

// cut is the end of a list from an index on, nil for nothing; what is appended to it does not touch the list.
func cut[T any](list []T, from int) []T {
	if from == len(list) {
		return nil
	}
	return list[from:len(list):len(list)]
}

var lineInMessage = regexp.MustCompile(`\bline [0-9]+`)

// renumber puts the line numbers of a message, which are those before the edit, right.
func (e *edit) renumber(message string) string {
	if e.patch.File.LineCount() == e.base.file.LineCount() || !strings.Contains(message, "line ") {
		return message
	}
	return lineInMessage.ReplaceAllStringFunc(message, func(text string) string {
		n, err := strconv.Atoi(text[len("line "):])
		line := e.base.file.LineText(n)
		first := e.base.file.Lines().Start(n) + len(line) - len(strings.TrimLeft(line, " \t"))
		start, ok := e.patch.ToNew(first)
		if err != nil || !ok {
			return text
		}
		return "line " + strconv.Itoa(e.patch.File.Line(start))
	})
}
