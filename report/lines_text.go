package report

import (
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"

	"stepline/traceindex"
)

// LinesView says how the cost table is drawn.
type LinesView struct {
	// Width is the terminal's width in cells; under 60 it is taken as 60.
	Width int
	Style Style
	Order LineOrder
	// Top shows that many lines only; 0 shows every line of at least hiddenShare of the GPU time or of its idle time.
	Top int
	// All shows every line that has a cost, however small.
	All bool
	// NoHeading leaves out what is said about the trace: the report has said it.
	NoHeading bool
	// Source returns a line of a workspace file (from 1) without its end, "" if there is none.
	Source func(file string, line int) string
}

// hiddenShare is the part of GPU time and of GPU idle time under which the table leaves a line out and counts it instead.
const hiddenShare = 0.001

// WriteLinesText prints the cost table: per function, its lines in source order, functions by what their lines cost.
// Times are means per step (and rank) where the trace has steps, sums over the trace otherwise; the heading says which.
func WriteLinesText(w io.Writer, costs *traceindex.Costs, view LinesView) error {
	var out strings.Builder
	table := newLineTable(costs, view)
	if !view.NoHeading {
		table.writeHeading(&out)
	}
	shown, hidden := table.selectLines()
	if len(shown) == 0 {
		out.WriteString("\n" + ansi.Wordwrap(noLinesMessage(costs), table.view.Width, "") + "\n")
	} else {
		table.writeHeader(&out)
		for _, group := range groupByFunction(shown, view.Order) {
			table.writeGroup(&out, group)
		}
	}
	table.writeUnattributed(&out)
	if hidden > 0 {
		fmt.Fprintf(&out, "%s\n", view.Style.Dim.Render(fmt.Sprintf("%s not shown; --all shows every line", Plural(hidden, "cheaper line"))))
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func noLinesMessage(costs *traceindex.Costs) string {
	if costs.Summary.GPUTotalNs == 0 {
		return "The trace holds no GPU work: was it recorded with ProfilerActivity.CUDA on a machine with a GPU?"
	}
	return "No line of this folder ran in the trace. If the sources are elsewhere, name their folder with --root; " +
		"if the trace has no Python frames, record it with with_stack=True or with `stepline record`."
}

// lineTable holds the measures shared by all rows of one table.
type lineTable struct {
	costs    *traceindex.Costs
	view     LinesView
	columns  []lineColumn
	source   int // width of the source column
	perStep  float64
	hasSteps bool
	largest  int64 // the order's value on the hottest line
}

type lineColumn struct {
	head  string
	width int
	cell  func(t *lineTable, sum *traceindex.LineCost) string
}

const lineNumberWidth = 5

func newLineTable(costs *traceindex.Costs, view LinesView) *lineTable {
	view.Width = max(view.Width, 60)
	if view.Order == "" {
		view.Order = OrderGPU
	}
	count, hasSteps := StepCount(costs.Summary)
	t := &lineTable{costs: costs, view: view, perStep: 1 / float64(count), hasSteps: hasSteps}
	duration := func(head string, value func(*traceindex.LineCost) int64) lineColumn {
		return lineColumn{head, max(len(head), 7), func(t *lineTable, l *traceindex.LineCost) string { return t.duration(value(l)) }}
	}
	forward := duration("forward", func(l *traceindex.LineCost) int64 { return l.SelfNs })
	backward := duration("backward", func(l *traceindex.LineCost) int64 { return l.BackwardNs })
	share := lineColumn{"of GPU", 6, func(t *lineTable, l *traceindex.LineCost) string { return t.gpuShare(l.GPUNs()) }}
	kernels := lineColumn{"kernels", 7, func(t *lineTable, l *traceindex.LineCost) string { return t.count(l.Kernels) }}
	t.columns = []lineColumn{forward, backward, share, kernels}
	// What lines are ranked by is always shown; wider tables show more besides.
	wants := func(width int, order LineOrder) bool { return view.Width >= width || view.Order == order }
	if wants(100, OrderIdle) {
		t.columns = append(t.columns, duration("GPU idle", func(l *traceindex.LineCost) int64 { return l.GPUIdleNs }))
	}
	if view.Order == OrderBubble {
		t.columns = append(t.columns, duration("bubble", func(l *traceindex.LineCost) int64 { return l.BubbleNs }))
	}
	if view.Order == OrderSync {
		t.columns = append(t.columns, duration("sync", func(l *traceindex.LineCost) int64 { return l.SyncNs }))
	}
	if view.Order == OrderCopy {
		t.columns = append(t.columns, duration("copies", func(l *traceindex.LineCost) int64 { return l.CopyNs }))
	}
	if wants(130, OrderCPU) {
		t.columns = append(t.columns, duration("CPU", func(l *traceindex.LineCost) int64 { return l.CPUNs }))
	}
	if wants(130, OrderCalls) {
		t.columns = append(t.columns, lineColumn{"calls", 6, func(t *lineTable, l *traceindex.LineCost) string { return t.count(l.Calls) }})
	}
	used := lineNumberWidth + 2 + 1 + t.barWidth() + 1 + confidenceWidth
	for _, column := range t.columns {
		used += column.width + 1
	}
	t.source = max(view.Width-used, 12)
	for i := range costs.Lines {
		t.largest = max(t.largest, t.rank(&costs.Lines[i]))
	}
	return t
}

const confidenceWidth = 8

func (t *lineTable) barWidth() int {
	switch {
	case t.view.Width >= 130:
		return 16
	case t.view.Width >= 100:
		return 10
	default:
		return 6
	}
}

// rank is what the bar shows: the order's value, GPU time where the order has none.
func (t *lineTable) rank(l *traceindex.LineCost) int64 {
	if t.view.Order == OrderLine {
		return l.GPUNs()
	}
	return t.view.Order.Value(l)
}

func (t *lineTable) duration(ns int64) string {
	if ns == 0 {
		return "·"
	}
	return Duration(float64(ns) * t.perStep)
}

func (t *lineTable) count(n int64) string {
	if n == 0 {
		return "·"
	}
	perStep := float64(n) * t.perStep
	if perStep < 10 && perStep != float64(int64(perStep)) {
		return fmt.Sprintf("%.1f", perStep)
	}
	return Count(int64(perStep + 0.5))
}

func (t *lineTable) gpuShare(ns int64) string {
	if ns == 0 || t.costs.Summary.GPUTotalNs == 0 {
		return "·"
	}
	share := float64(ns) / float64(t.costs.Summary.GPUTotalNs)
	if share > 0.9995 {
		return "100 %"
	}
	return Percent(share)
}

func (t *lineTable) writeHeading(out *strings.Builder) {
	s := t.costs.Summary
	parts := []string{traceNames(s.Files)}
	if s.Device != "" {
		parts = append(parts, Printable(s.Device))
	}
	if s.Ranks > 1 {
		parts = append(parts, Plural(s.Ranks, "rank"))
	}
	if t.hasSteps {
		parts = append(parts, fmt.Sprintf("%s of %s", Plural(s.Steps, "step"), Duration(float64(s.StepMeanNs))))
	}
	out.WriteString(t.view.Style.Heading.Render(ansi.Wrap(strings.Join(parts, " · "), t.view.Width, "")) + "\n")

	unit := "over the whole trace (it has no steps)"
	if t.hasSteps {
		unit = "a step"
		if s.Ranks > 1 {
			unit = "a step and rank"
		}
	}
	total := fmt.Sprintf("GPU work %s, GPU idle %s %s", Duration(float64(s.GPUTotalNs)*t.perStep), Duration(float64(s.GPUIdleNs)*t.perStep), unit)
	if s.GPUTotalNs == 0 {
		total = "no GPU work recorded"
	}
	if s.CallLines {
		total += "; lines as recorded"
	}
	out.WriteString(ansi.Wrap(total, t.view.Width, "") + "\n")
}

func traceNames(files []string) string {
	switch len(files) {
	case 0:
		return "no trace"
	case 1:
		return Printable(path.Base(files[0]))
	default:
		return fmt.Sprintf("%s and %d more", Printable(path.Base(files[0])), len(files)-1)
	}
}

func (t *lineTable) selectLines() (shown []traceindex.LineCost, hidden int) {
	if t.view.Top > 0 {
		order := t.view.Order
		if order == OrderLine {
			order = OrderGPU
		}
		return RankLines(t.costs.Lines, order, t.view.Top), 0
	}
	for i := range t.costs.Lines {
		line := &t.costs.Lines[i]
		gpu := float64(line.GPUNs()) >= hiddenShare*float64(t.costs.Summary.GPUTotalNs) && line.GPUNs() > 0
		idle := float64(line.GPUIdleNs) >= hiddenShare*float64(t.costs.Summary.GPUIdleNs) && line.GPUIdleNs > 0
		asked := t.view.Order != OrderLine && t.view.Order.Value(line)*1000 >= t.largest && t.view.Order.Value(line) > 0
		if t.view.All || gpu || idle || asked {
			shown = append(shown, *line)
		} else {
			hidden++
		}
	}
	return shown, hidden
}

// functionGroup is one function's lines in source order and their sum.
type functionGroup struct {
	sum   traceindex.LineCost
	lines []traceindex.LineCost
}

func groupByFunction(lines []traceindex.LineCost, order LineOrder) []functionGroup {
	type key struct{ file, function string }
	byKey := map[key]*functionGroup{}
	for i := range lines {
		line := lines[i]
		k := key{line.File, line.Function}
		group := byKey[k]
		if group == nil {
			group = &functionGroup{sum: traceindex.LineCost{File: line.File, Function: line.Function, Line: line.Line}}
			byKey[k] = group
		}
		group.lines = append(group.lines, line)
		group.sum.SelfNs += line.SelfNs
		group.sum.BackwardNs += line.BackwardNs
		group.sum.Kernels += line.Kernels
		group.sum.CPUNs += line.CPUNs
		group.sum.GPUIdleNs += line.GPUIdleNs
		group.sum.SyncNs += line.SyncNs
		group.sum.BubbleNs += line.BubbleNs
		group.sum.CopyNs += line.CopyNs
		group.sum.Line = min(group.sum.Line, line.Line)
	}
	sums := make([]traceindex.LineCost, 0, len(byKey))
	for _, group := range byKey {
		slices.SortStableFunc(group.lines, func(a, b traceindex.LineCost) int { return a.Line - b.Line })
		sums = append(sums, group.sum)
	}
	groups := make([]functionGroup, 0, len(sums))
	for _, sum := range RankLines(sums, order, 0) {
		groups = append(groups, *byKey[key{sum.File, sum.Function}])
	}
	return groups
}

func (t *lineTable) writeHeader(out *strings.Builder) {
	var row strings.Builder
	row.WriteString(strings.Repeat(" ", lineNumberWidth+2+t.source+1+t.barWidth()))
	for _, column := range t.columns {
		row.WriteString(" " + padLeft(column.head, column.width))
	}
	row.WriteString(" " + "sure")
	out.WriteString("\n" + t.view.Style.Dim.Render(row.String()) + "\n")
}

func (t *lineTable) writeGroup(out *strings.Builder, group functionGroup) {
	style := t.view.Style
	left := lineNumberWidth + 2 + t.source + 1 + t.barWidth()
	name := Printable(group.sum.Function)
	place := Printable(group.sum.File)
	if place == "" {
		place = "?"
	}
	room := left - ansi.StringWidth(place) - 2
	if room < 10 {
		place = ansi.TruncateLeft(place, ansi.StringWidth(place)-max(left-ansi.StringWidth(name)-3, 8), "…")
		room = left - ansi.StringWidth(place) - 2
	}
	name = ansi.Truncate(name, max(room, 8), "…")
	title := padRight(style.Function.Render(name)+"  "+style.Dim.Render(place), left)
	out.WriteString(title + style.Strong.Render(t.cells(&group.sum)) + "\n")
	for i := range group.lines {
		t.writeLine(out, &group.lines[i])
	}
}

func (t *lineTable) writeLine(out *strings.Builder, line *traceindex.LineCost) {
	style := t.view.Style
	text := ""
	if t.view.Source != nil {
		text = strings.TrimSpace(Printable(t.view.Source(line.File, line.Line)))
	}
	text = ansi.Truncate(text, t.source, "…")
	heat := 0.0
	if t.largest > 0 {
		heat = float64(t.rank(line)) / float64(t.largest)
	}
	heatStyle := style.heat(heat)
	fmt.Fprintf(out, "%s  %s %s%s %s\n",
		style.Dim.Render(padLeft(fmt.Sprint(line.Line), lineNumberWidth)),
		padRight(text, t.source),
		heatStyle.Render(bar(heat, t.barWidth())),
		t.cells(line),
		style.Dim.Render(line.Confidence.String()))
}

func (t *lineTable) cells(l *traceindex.LineCost) string {
	var row strings.Builder
	for _, column := range t.columns {
		row.WriteString(" " + padLeft(column.cell(t, l), column.width))
	}
	return row.String()
}

func (t *lineTable) writeUnattributed(out *strings.Builder) {
	if len(t.costs.Unattributed) == 0 {
		return
	}
	rows := slices.Clone(t.costs.Unattributed)
	slices.SortStableFunc(rows, func(a, b traceindex.Unattributed) int { return int(min(max(b.Ns-a.Ns, -1), 1)) })
	out.WriteString("\n" + t.view.Style.Function.Render("GPU time on no line") + "\n")
	left := lineNumberWidth + 2 + t.source + 1 + t.barWidth()
	var rest traceindex.Unattributed
	restRows := 0
	for i := range rows {
		if i >= 8 && !t.view.All {
			rest.Ns += rows[i].Ns
			restRows++
			continue
		}
		t.writeUnattributedRow(out, unattributedText(&rows[i]), rows[i].Ns, left)
	}
	if restRows > 0 {
		t.writeUnattributedRow(out, Plural(restRows, "smaller row"), rest.Ns, left)
	}
}

func (t *lineTable) writeUnattributedRow(out *strings.Builder, text string, ns int64, left int) {
	numbers := " " + padLeft(t.duration(ns), 7) + "          " + padLeft(t.gpuShare(ns), 6)
	out.WriteString(padRight("  "+ansi.Truncate(text, left-2, "…"), left) + numbers + "\n")
}

func unattributedText(row *traceindex.Unattributed) string {
	text := Printable(row.Reason)
	if row.File != "" {
		text += "  " + Printable(row.File)
		if row.Line > 0 {
			text += fmt.Sprintf(":%d", row.Line)
		}
	}
	if row.Function != "" {
		text += " " + Printable(row.Function)
	}
	if len(row.Candidates) > 0 {
		text += fmt.Sprintf(" (line %s)", joinInts(row.Candidates, " or "))
	}
	return text
}

func joinInts(numbers []int, separator string) string {
	words := make([]string, len(numbers))
	for i, n := range numbers {
		words[i] = fmt.Sprint(n)
	}
	return strings.Join(words, separator)
}

var barParts = []rune(" ▏▎▍▌▋▊▉█")

// bar draws share (0–1) in eighths of a cell, at least a sliver for what is above 0.
func bar(share float64, width int) string {
	eighths := int(share*float64(width)*8 + 0.5)
	if share > 0 {
		eighths = max(eighths, 1)
	}
	eighths = min(eighths, width*8)
	text := strings.Repeat("█", eighths/8)
	if eighths%8 > 0 {
		text += string(barParts[eighths%8])
	}
	return padRight(text, width)
}

func padLeft(text string, width int) string {
	return strings.Repeat(" ", max(width-ansi.StringWidth(text), 0)) + text
}

func padRight(text string, width int) string {
	return text + strings.Repeat(" ", max(width-ansi.StringWidth(text), 0))
}

// Plural counts things: "1 file", "3 files".
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Count(int64(n)) + " " + noun + "s"
}

// Style is how parts of the output look; the zero Style is plain text.
type Style struct {
	Heading, Function, Strong, Dim lipgloss.Style
	Error, Warning, Info, Hint     lipgloss.Style
	Added, Removed                 lipgloss.Style
	hot, warm, mild, cool          lipgloss.Style
	shares                         map[string]lipgloss.Style // of a step, by the contract's names
}

// share is the style of a part of a step.
func (s Style) share(key string) lipgloss.Style { return s.shares[key] }

// heat picks the colour of a bar. The ramp (orange, gold, teal, grey) stays distinguishable with common colour blindness,
// and the bar's length says the same.
func (s Style) heat(share float64) lipgloss.Style {
	switch {
	case share >= 0.5:
		return s.hot
	case share >= 0.2:
		return s.warm
	case share >= 0.05:
		return s.mild
	default:
		return s.cool
	}
}

// NewStyle makes the styles for an output that renderer describes (its colour profile decides what is drawn).
func NewStyle(renderer *lipgloss.Renderer) Style {
	colour := func(code string) lipgloss.Style { return renderer.NewStyle().Foreground(lipgloss.Color(code)) }
	shares := map[string]lipgloss.Style{}
	for key, code := range shareColours {
		shares[key] = colour(code)
	}
	return Style{
		shares:  shares,
		Heading: renderer.NewStyle().Bold(true), Function: renderer.NewStyle().Bold(true), Strong: renderer.NewStyle().Bold(true),
		Dim:   colour("245"),
		Error: colour("196").Bold(true), Warning: colour("214").Bold(true), Info: colour("75").Bold(true), Hint: colour("245"),
		Added: colour("71"), Removed: colour("167"),
		hot: colour("208"), warm: colour("178"), mild: colour("73"), cool: colour("245"),
	}
}
