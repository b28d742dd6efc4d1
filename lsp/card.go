package lsp

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"stepline/report"
	"stepline/traceindex"
	"stepline/traceindex/diagnose"
)

// card is what is known about one line, for hovers and tooltips. Once it is rendered it does not change.
type card struct {
	title string
	rows  [][3]string // what, how much a step, share or remark
	notes []string    // sentences under the table

	markdown, plain rendered
}

// rendered is a card as text, written when it is first asked for: what a trace says of a line is asked for at every keystroke.
type rendered struct {
	once sync.Once
	text string
}

func (c *card) empty() bool {
	return c == nil || c.title == "" && len(c.rows) == 0 && len(c.notes) == 0
}

// render is the card as Markdown or as plain text.
func (c *card) render(markdown bool) string {
	if c.empty() {
		return ""
	}
	form := &c.plain
	if markdown {
		form = &c.markdown
	}
	form.once.Do(func() { form.text = c.write(markdown) })
	return form.text
}

func (c *card) write(markdown bool) string {
	var b strings.Builder
	if c.title != "" {
		if markdown {
			b.WriteString("**" + c.title + "**\n\n")
		} else {
			b.WriteString(c.title + "\n")
		}
	}
	if len(c.rows) > 0 && markdown {
		b.WriteString("| | | |\n|:--|--:|:--|\n")
	}
	for _, r := range c.rows {
		if markdown {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", cellText(r[0]), cellText(r[1]), cellText(r[2]))
		} else {
			b.WriteString(strings.TrimRight(fmt.Sprintf("%s: %s  %s", r[0], r[1], r[2]), " :") + "\n")
		}
	}
	for _, n := range c.notes {
		if markdown {
			b.WriteString("\n")
		}
		b.WriteString(n + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// cellText keeps names from breaking a Markdown table: kernels are called `void at::native::f<int, 4>(…)`.
func cellText(text string) string { return cellReplacer.Replace(text) }

var cellReplacer = strings.NewReplacer("|", `\|`, "\n", " ", "\r", " ")

// costCard is the card of a line (from 1); empty where the trace says nothing about it.
func (s *server) costCard(result *checked, line int) *card {
	v := result.lines
	c := &card{}
	if v == nil {
		return c
	}
	var costs []*card
	for _, row := range v.between(line, line) {
		if !row.stale {
			costs = append(costs, v.trace.cardOf(row.cost))
		}
	}
	for _, n := range v.notes {
		if n.line == line && !n.stale {
			c.addNote(v.trace, n)
		}
	}
	c.notes = append(c.notes, v.said[line]...)
	c.addBeside(v, line)
	switch {
	case len(costs) == 1 && c.empty():
		return costs[0] // as it is on most lines: one card for all the versions of the text, rendered once
	case len(costs) > 0:
		c = joined(append(costs, c))
	case c.empty() && result.staleAt(line):
		c.notes = append(c.notes, "This function has changed since the trace was recorded: its costs are not shown. Record a new trace to see them.")
	}
	return c
}

// joined is one card of several: the first title, the rows and notes of all.
func joined(cards []*card) *card {
	all := &card{}
	for _, c := range cards {
		all.title = cmp.Or(all.title, c.title)
		all.rows, all.notes = append(all.rows, c.rows...), append(all.notes, c.notes...)
	}
	return all
}

// cardOf is the card of a line's cost alone. It is made once a trace: what it says does not depend on where the line is now.
func (t *loadedTrace) cardOf(l *traceindex.LineCost) *card {
	if made, ok := t.cards.Load(l); ok {
		return made.(*card)
	}
	c := &card{}
	c.addRow(t, l)
	made, _ := t.cards.LoadOrStore(l, c)
	return made.(*card)
}

func (c *card) addRow(t *loadedTrace, l *traceindex.LineCost) {
	perStep := t.perStep(l.GPUNs())
	c.title = fmt.Sprintf("%s on the GPU %s · %s of its GPU time", report.Duration(perStep), t.per(), percent(t.gpuShare(perStep)))
	gpu := func(what string, ns int64) {
		if ns > 0 {
			c.rows = append(c.rows, [3]string{what, report.Duration(t.perStep(ns)), percent(t.gpuShare(t.perStep(ns)))})
		}
	}
	add := func(what string, ns int64) {
		if ns <= 0 {
			return
		}
		remark := ""
		if share := t.stepShare(t.perStep(ns)); share > 0 {
			remark = percent(share) + " of the step"
		}
		c.rows = append(c.rows, [3]string{what, report.Duration(t.perStep(ns)), remark})
	}
	gpu("GPU forward", l.SelfNs)
	gpu("GPU backward", l.BackwardNs)
	add("CPU", l.CPUNs)
	add("Host waits for the GPU", l.SyncNs)
	add("GPU idle after the wait", l.BubbleNs)
	add("GPU idle while the host is here", l.GPUIdleNs)
	c.addCopies(t, l)
	c.addCalls(t, l)
	c.addKernels(t, l)
	c.addRanks(t, l)
	c.notes = append(c.notes, confidenceNote(l))
}

func (c *card) addCopies(t *loadedTrace, l *traceindex.LineCost) {
	if l.CopyNs <= 0 {
		return
	}
	remark := report.Bytes(int64(t.perStep(l.CopyBytes)))
	if l.CopyBytes > 0 {
		remark += fmt.Sprintf(" at %.1f GB/s", float64(l.CopyBytes)/float64(l.CopyNs))
	}
	switch {
	case l.PageableBytes > 0 && l.PageableBytes >= l.CopyBytes:
		remark += ", from or to pageable memory"
	case l.PageableBytes == 0 && l.CopyBytes > 0:
		remark += ", none from or to pageable memory"
	case l.PageableBytes > 0:
		remark += fmt.Sprintf(", %s of it from or to pageable memory", report.Bytes(int64(t.perStep(l.PageableBytes))))
	}
	c.rows = append(c.rows, [3]string{"GPU copies", report.Duration(t.perStep(l.CopyNs)), remark})
}

func (c *card) addCalls(t *loadedTrace, l *traceindex.LineCost) {
	if l.Calls > 0 {
		remark := countOf(t.perStep(l.Kernels), "GPU event")
		if remark != "" { // with the verb also read right where columns touch
			remark = "launching " + remark
		}
		c.rows = append(c.rows, [3]string{"Runs", countOf(t.perStep(l.Calls), "time"), remark})
	}
}

func count(n float64) string { return strings.TrimSuffix(strconv.FormatFloat(n, 'f', 1, 64), ".0") }

func countOf(n float64, thing string) string {
	if n == 0 {
		return ""
	}
	if n != 1 {
		thing += "s"
	}
	return count(n) + " " + thing
}

// maxKernels is how many kernels a hover lists.
const maxKernels = 5

func (c *card) addKernels(t *loadedTrace, l *traceindex.LineCost) {
	for i, k := range l.TopKernels {
		if i == maxKernels {
			break
		}
		remark := countOf(t.perStep(k.Count), "launch")
		remark = strings.Replace(remark, "launchs", "launches", 1)
		if k.Backward {
			remark += ", backward"
		}
		if use := tensorCores(k.Name); use != "" {
			remark += ", " + use
		}
		c.rows = append(c.rows, [3]string{"`" + strings.ReplaceAll(shorten(report.Printable(k.Name), 60), "`", "'") + "`", report.Duration(t.perStep(k.Ns)), remark})
	}
}

// tensorCores says what a kernel's name proves about its use of tensor cores; names that prove nothing say nothing.
func tensorCores(name string) string {
	switch diagnose.TensorCoresOf(name) {
	case diagnose.TensorCoresUnused:
		return "no tensor cores"
	case diagnose.TensorCoresUsed:
		return "tensor cores"
	}
	return ""
}

func shorten(text string, limit int) string {
	runes := []rune(text)
	if len(runes) <= limit {
		return text
	}
	return string(runes[:limit-1]) + "…"
}

func (c *card) addRanks(t *loadedTrace, l *traceindex.LineCost) {
	if len(l.PerRankNs) < 2 {
		return
	}
	steps := float64(max(1, t.loaded.Costs.Summary.Steps))
	low, high := slices.Index(l.PerRankNs, slices.Min(l.PerRankNs)), slices.Index(l.PerRankNs, slices.Max(l.PerRankNs))
	c.rows = append(c.rows, [3]string{"Ranks", report.Duration(float64(l.PerRankNs[low])/steps) + " – " + report.Duration(float64(l.PerRankNs[high])/steps),
		fmt.Sprintf("least on the %s of %d ranks, most on the %s", ordinal(low), len(l.PerRankNs), ordinal(high))})
}

func ordinal(i int) string {
	n := i + 1
	suffix := "th"
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return strconv.Itoa(n) + suffix
}

func confidenceNote(l *traceindex.LineCost) string {
	switch l.Confidence {
	case traceindex.ConfidenceExact:
		return "Confidence: exact."
	case traceindex.ConfidenceLikely:
		return "Confidence: likely. Another line fits the recorded calls nearly as well."
	case traceindex.ConfidenceFunction:
		return "Confidence: function. The trace does not tell which of its lines spent this."
	}
	return "Confidence: ambiguous. Two or more lines fit the recorded calls alike."
}

func (c *card) addNote(t *loadedTrace, n lineNote) {
	ns := report.Duration(t.perStep(n.what.Ns))
	if len(n.what.Candidates) == 0 {
		c.rows = append(c.rows, [3]string{capital(n.what.Reason), ns, "apart: no line of its own"})
		return
	}
	lines := make([]string, len(n.candidates))
	for i, line := range n.candidates {
		lines[i] = strconv.Itoa(line)
	}
	c.notes = append(c.notes, fmt.Sprintf("%s of GPU time %s belong to one of the lines %s: they fit the recorded calls alike, so it is on none of them.",
		ns, t.per(), strings.Join(lines, ", ")))
}

func capital(text string) string {
	if text == "" {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}
