package lsp

import (
	"slices"

	"stepline/analysis"
	"stepline/pyscan"
	"stepline/rules"
)

// liveDocument is what the last whole check of a document left to lint edits by.
type liveDocument struct {
	live      *rules.Live // the quick lane's
	workspace *analysis.Workspace
	project   *rules.Project
	trace     *loadedTrace
	path      string
	result    *checked
	// patch is the last edit that was linted, nil for none; the quick lane's.
	patch *pyscan.Patch
}

// maxLives bounds how many documents are kept ready for quick checks (nobody types into more at a time), maxLiveSize how large they
// may be, in bytes: what is kept of a document beside its model is several times its text.
const (
	maxLives    = 4
	maxLiveSize = 1 << 20
)

// keep has a document's edits linted by a whole check of it.
func (c *checker) keep(d *document, live *liveDocument) {
	if d.notebook != nil || live.live == nil || d.text.Len() > maxLiveSize {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lives[d.key] == nil {
		c.livesOrder = append(c.livesOrder, d.key)
	}
	c.lives[d.key] = live
	if len(c.livesOrder) > maxLives {
		delete(c.lives, c.livesOrder[0])
		c.livesOrder = c.livesOrder[1:]
	}
}

// liveOf is what a document's edits can be linted by, nil for nothing: what it rests on must be as it was.
func (c *checker) liveOf(d *document) *liveDocument {
	c.mu.Lock()
	live := c.lives[d.key]
	c.mu.Unlock()
	if live == nil || live.workspace != d.folder.workspace || live.trace != d.folder.trace || live.path != d.path || !live.project.SameBeside(live.workspace.Project(), d.path) {
		return nil
	}
	return live
}

// checkQuickly tells what an edit changes, if that shows in the edited definitions alone; else it sends the document on to the
// whole lane.
func (c *checker) checkQuickly(key string) {
	d := c.s.current.Load().documents[key]
	if d == nil {
		c.poke(key) // its text must leave the project
		return
	}
	if d.cell.overtaken() || d.cell.soonest() != nil {
		return
	}
	live := c.liveOf(d)
	if live == nil {
		c.poke(key)
		return
	}
	if live.live.File().Text == d.text.String() { // an edit was undone
		live.patch = nil
		c.tell(d, live.result, d.cell.settleQuickly)
		c.pokeLater(key)
		return
	}
	result := c.lintEdit(d, live)
	if result == nil {
		c.poke(key)
		return
	}
	c.tell(d, result, d.cell.settleQuickly)
	if len(result.patch.Parts) > 1 {
		c.poke(key) // somebody goes on elsewhere: what was edited before need not be read with every letter
		return
	}
	c.pokeLater(key)
}

// lintEdit lints the edited definitions, nil where that does not tell all.
func (c *checker) lintEdit(d *document, live *liveDocument) (result *checked) {
	defer c.recovered("checking an edit of", d)
	patch, ok := live.follow(d.text.String())
	if !ok {
		return nil
	}
	edited, ok := live.live.Edited(patch)
	if !ok {
		return nil
	}
	live.patch = patch
	result = &checked{file: patch.File, findings: edited.Findings, provisional: edited.Provisional, base: live.result, patch: patch}
	result.lines = d.folder.editedLines(d, live.result, patch)
	return result
}

// follow is the patch that makes a text of the one checked whole.
func (l *liveDocument) follow(text string) (*pyscan.Patch, bool) {
	if l.patch != nil {
		if next, ok := l.patch.Then(text); ok {
			return next, true
		}
	}
	return l.live.File().Patch(text)
}

// editedLines are the lines of a document after an edit: those of the whole check before, moved, and in the edited definitions as
// the trace has them.
func (f *folder) editedLines(d *document, before *checked, patch *pyscan.Patch) *lineView {
	part := f.linesOf(d, patch.File)
	if part == nil {
		return nil // no trace is loaded
	}
	m := movedLines{patch}
	v := &lineView{trace: part.trace, said: map[int][]string{}, beside: map[int]*besideCard{}}
	v.changed = append(slices.Clone(before.lines.changed), part.changed...)
	for _, row := range before.lines.rows {
		if line, ok := m.line(row.line); ok {
			row.line = line
			v.rows = append(v.rows, row)
		}
	}
	v.rows = append(v.rows, m.within(part.rows)...)
	slices.SortStableFunc(v.rows, func(a, b lineRow) int { return a.line - b.line })
	v.notes = m.notes(before.lines.notes, part.notes)
	for line, said := range before.lines.said {
		if line, ok := m.line(line); ok {
			v.said[line] = said
		}
	}
	for line, card := range before.lines.beside {
		if line, ok := m.line(line); ok {
			v.beside[line] = card
		}
	}
	for line, said := range part.said {
		v.said[line] = said
	}
	for line, card := range part.beside {
		v.beside[line] = card
	}
	return v
}

// movedLines is how lines move with an edit.
type movedLines struct{ patch *pyscan.Patch }

// line is where a line is now; ok is false for those of edited definitions.
func (m movedLines) line(before int) (now int, ok bool) {
	start := m.patch.Base.Lines().Start(before)
	if m.patch.Replaces(start) {
		return 0, false
	}
	moved, ok := m.patch.ToNew(start)
	return m.patch.File.Line(moved), ok
}

// inside tells whether a line, as it is now, is one of edited definitions.
func (m movedLines) inside(now int) bool {
	_, outside := m.patch.ToBase(m.patch.File.Lines().Start(now))
	return !outside
}

func (m movedLines) within(rows []lineRow) []lineRow {
	return slices.DeleteFunc(slices.Clone(rows), func(r lineRow) bool { return !m.inside(r.line) })
}

func (m movedLines) notes(before, part []lineNote) []lineNote {
	var out []lineNote
	for _, n := range before {
		line, ok := m.line(n.line)
		if !ok {
			continue
		}
		n.line = line
		n.candidates = slices.Clone(n.candidates)
		for i, c := range n.candidates {
			if line, ok := m.line(c); ok {
				n.candidates[i] = line
			}
		}
		out = append(out, n)
	}
	for _, n := range part {
		if m.inside(n.line) {
			out = append(out, n)
		}
	}
	return out
}

// staleAt tells whether a line stands in a function that changed since the trace was loaded.
func (result *checked) staleAt(line int) bool {
	v, file := result.lines, result.file
	if v == nil || file == nil {
		return false
	}
	if p := result.patch; p != nil {
		if before, outside := p.ToBase(file.Lines().Start(line)); outside {
			return result.base.staleAt(p.Base.Line(before))
		}
	}
	return v.staleAt(file, line)
}

// editedLenses are the lenses of the whole check before, moved, without the totals of functions that the edit changed.
func (result *checked) editedLenses() []lensAt {
	var out []lensAt
	p, before := result.patch, result.base
	var now []*pyscan.Function // as they were before
	for _, fn := range p.Base.Functions[1:] {
		if p.ReplacesAll(fn.Span) && slices.ContainsFunc(result.lines.changed, func(edited *pyscan.Function) bool { return edited.QualName == fn.QualName }) {
			now = append(now, fn)
		}
	}
	changed := slices.Concat(before.lines.changed, now)
	for _, l := range before.lenses() {
		offset, ok := p.ToNew(l.offset)
		if !ok || l.function != nil && slices.Contains(changed, l.function) {
			continue
		}
		if l.class != nil && slices.ContainsFunc(now, func(fn *pyscan.Function) bool { return l.class.Covers(fn.Span) }) {
			if l.title = before.lines.moduleTitle(before.file, l.class, changed); l.title == "" {
				continue
			}
		}
		l.offset = offset
		out = append(out, l)
	}
	return out
}

// sameFindings tells whether two checks of a text have the same to show.
func sameFindings(a, b *checked) bool {
	return slices.EqualFunc(a.findings, b.findings, func(a, b rules.Finding) bool {
		return a.Rule == b.Rule && a.File.Path == b.File.Path && a.Span == b.Span && a.Message == b.Message && a.Severity == b.Severity &&
			a.Verdict == b.Verdict && a.Cost == b.Cost && slices.Equal(a.Tags, b.Tags) &&
			slices.EqualFunc(a.Related, b.Related, func(a, b rules.Related) bool {
				return a.File.Path == b.File.Path && a.Span == b.Span && a.Message == b.Message
			})
	})
}
