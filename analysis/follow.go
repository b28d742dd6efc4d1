package analysis

import (
	"strings"

	"stepline/pyscan"
)

// LineMap tells where the statements of an older text stand in a newer one. A function whose statements are the same, one
// for one, is followed wherever it went (moved, indented, renamed, comments and blank lines between its statements); one that
// changed inside is stale: its old lines are placed as well as can be, and never as if they were fresh.
type LineMap struct {
	same bool
	to   map[int]place // old line → new
	back map[int]place // new line → old
	// Changed are the functions of the newer text that changed inside.
	Changed []*pyscan.Function
}

type place struct {
	line  int
	fresh bool
}

// Line is the new line (from 1) of an old one, 0 if it is gone; fresh is false in functions that changed inside.
func (m *LineMap) Line(old int) (line int, fresh bool) {
	if m.same {
		return old, true
	}
	p := m.to[old]
	return p.line, p.fresh
}

// OldLine is the opposite of Line.
func (m *LineMap) OldLine(line int) (old int, fresh bool) {
	if m.same {
		return line, true
	}
	p := m.back[line]
	return p.line, p.fresh
}

// FollowLines maps the lines of statements from an older model of a file to a newer one. For a newer one that models a part of its
// text, it maps the lines of that part.
func FollowLines(older, newer *pyscan.File) *LineMap { return newFollower(older).to(newer) }

// follower keeps what it takes to follow the lines of one text to many newer ones.
type follower struct {
	older  *pyscan.File
	bodies []*body
}

func newFollower(older *pyscan.File) *follower {
	return &follower{older: older, bodies: bodiesOf(older)}
}

func (f *follower) to(newer *pyscan.File) *LineMap {
	if f.older.Text == newer.Text {
		return &LineMap{same: true}
	}
	m := &LineMap{to: map[int]place{}, back: map[int]place{}}
	olds, news := f.bodies, bodiesOf(newer)
	matched := matchBodies(olds, news)
	for i, o := range olds {
		j, ok := matched[i]
		if !ok {
			continue // gone: its lines are nowhere
		}
		n := news[j]
		if o.sameAs(n) {
			for k := range o.statements {
				m.put(o.statements[k].line, n.statements[k].line, true)
			}
			m.putDef(o, n, true)
			continue
		}
		m.Changed = append(m.Changed, n.function)
		m.placeStale(o, n)
	}
	return m
}

func (m *LineMap) put(old, line int, fresh bool) {
	if _, taken := m.to[old]; !taken {
		m.to[old] = place{line, fresh}
	}
	if _, taken := m.back[line]; !taken {
		m.back[line] = place{old, fresh}
	}
}

// placeStale puts the old lines of a changed function, to be shown as stale: statements before and after the change on the
// same statements, changed ones on those in their place where there are as many, others where their text, alone, still stands.
func (m *LineMap) placeStale(o, n *body) {
	old, now := o.statements, n.statements
	for len(old) > 0 && len(now) > 0 && old[0].text == now[0].text {
		m.put(old[0].line, now[0].line, false)
		old, now = old[1:], now[1:]
	}
	for len(old) > 0 && len(now) > 0 && old[len(old)-1].text == now[len(now)-1].text {
		m.put(old[len(old)-1].line, now[len(now)-1].line, false)
		old, now = old[:len(old)-1], now[:len(now)-1]
	}
	count, at, oldCount := map[string]int{}, map[string]int{}, map[string]int{}
	for _, s := range now {
		count[s.text]++
		at[s.text] = s.line
	}
	for _, s := range old {
		oldCount[s.text]++
	}
	for i, s := range old {
		switch {
		case count[s.text] == 1 && oldCount[s.text] == 1:
			m.put(s.line, at[s.text], false)
		case len(old) == len(now):
			m.put(s.line, now[i].line, false)
		}
	}
	m.putDef(o, n, false)
}

// putDef puts a def's own lines; the top level has none.
func (m *LineMap) putDef(o, n *body, fresh bool) {
	if o.function.Parent != nil && n.function.Parent != nil {
		m.put(o.function.DefLine, n.function.DefLine, fresh)
		m.put(o.function.FirstLine, n.function.FirstLine, fresh)
	}
}

// body is a function with the statements that run in its own frame.
type body struct {
	function   *pyscan.Function
	statements []statement
}

type statement struct {
	line int
	text string // without the layout at its lines' ends and beginnings
}

func (b *body) sameAs(o *body) bool {
	if len(b.statements) != len(o.statements) {
		return false
	}
	for i := range b.statements {
		if b.statements[i].text != o.statements[i].text {
			return false
		}
	}
	return true
}

// bodiesOf lists a file's defs and its top level with their own statements. Lambdas and comprehensions are part of the
// statement that holds them.
func bodiesOf(file *pyscan.File) []*body {
	var all []*body
	for _, fn := range file.Functions {
		if fn.Comprehension != nil || fn.Value != nil || file.Part && fn == file.Module {
			continue
		}
		b := &body{function: fn}
		b.gather(file, fn.Body)
		all = append(all, b)
	}
	return all
}

func (b *body) gather(file *pyscan.File, stmts []pyscan.Stmt) {
	for _, s := range stmts {
		span := s.Range()
		inner := pyscan.Bodies(s)
		if len(inner) > 0 {
			span = pyscan.HeaderSpan(s)
		}
		switch s.(type) {
		case *pyscan.FunctionDef, *pyscan.ClassDef, *pyscan.Import:
			// Definitions run in frames of their own, and a new one, or an import, changes nothing about what stands beside it.
			continue
		}
		b.statements = append(b.statements, statement{file.StatementLine(s), plain(file.Text[span.Start:span.End])})
		for _, in := range inner {
			b.gather(file, in)
		}
	}
}

// plain is a statement's text without comments' and layout's share at its line ends.
func plain(text string) string {
	if !strings.ContainsAny(text, "\n\r") {
		return text
	}
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines, "\n")
}

// matchBodies pairs old functions with new ones: first by qualified name and order, then, for what is left, by an equal
// body that occurs once on both sides (a rename or a move to another class).
func matchBodies(olds, news []*body) map[int]int {
	matched, taken := map[int]int{}, map[int]bool{}
	byName := map[string][]int{}
	for j, n := range news {
		byName[n.function.QualName] = append(byName[n.function.QualName], j)
	}
	for i, o := range olds {
		for k, j := range byName[o.function.QualName] {
			if !taken[j] {
				matched[i], taken[j] = j, true
				byName[o.function.QualName] = byName[o.function.QualName][k+1:]
				break
			}
		}
	}
	if len(taken) == len(news) {
		return matched
	}
	byBody := map[string][]int{}
	for j, n := range news {
		if !taken[j] {
			byBody[n.key()] = append(byBody[n.key()], j)
		}
	}
	oldBodies := map[string]int{}
	for i, o := range olds {
		if _, done := matched[i]; !done {
			oldBodies[o.key()]++
		}
	}
	for i, o := range olds {
		if _, done := matched[i]; done || oldBodies[o.key()] != 1 || len(o.statements) < 2 {
			continue
		}
		if js := byBody[o.key()]; len(js) == 1 {
			matched[i] = js[0]
		}
	}
	return matched
}

func (b *body) key() string {
	var k strings.Builder
	for _, s := range b.statements {
		k.WriteString(s.text)
		k.WriteByte(0)
	}
	return k.String()
}
