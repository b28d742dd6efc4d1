package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"

	"stepline/rules"
	"stepline/traceindex/diagnose"
)

// RunView says how the text report is drawn.
type RunView struct {
	Width int
	Style Style
}

const (
	shownFindings = 8
	shownGaps     = 8
	shownLines    = 10
)

// WriteRunText prints the report on a terminal: what bounds the step and why, what to do first, then the tables behind it.
func WriteRunText(w io.Writer, r *Run, view RunView) error {
	t := &runText{Run: r, width: max(view.Width, 72), style: view.Style}
	if r.Costs.Summary.Ranks == 0 && !r.Beside.Empty() { // no trace: the other inputs speak for themselves
		return WriteBesideText(w, r.Beside, LinesView{Width: view.Width, Style: view.Style, Top: shownLines, NoHeading: true}, 1)
	}
	t.heading()
	t.evidence()
	t.doFirst()
	if t.gpuKnown() {
		t.ranks()
		t.phases()
		t.idle()
		t.gaps()
	}
	t.beside()
	t.quality()
	if err := t.flush(w); err != nil {
		return err
	}
	return WriteLinesText(w, r.Costs, LinesView{Width: view.Width, Style: view.Style, Top: shownLines, Source: r.Source, NoHeading: true})
}

type runText struct {
	*Run
	width int
	style Style
	out   strings.Builder
}

func (t *runText) flush(w io.Writer) error {
	_, err := io.WriteString(w, t.out.String())
	return err
}

func (t *runText) line(format string, arguments ...any) {
	t.out.WriteString(strings.TrimRight(fmt.Sprintf(format, arguments...), " ") + "\n")
}

func (t *runText) section(title string) {
	t.line("\n%s", t.style.Function.Render(title))
}

func (t *runText) wrapped(lead, text string) { writeWrapped(&t.out, t.width, lead, text) }

func (t *runText) heading() {
	table := newLineTable(t.Costs, LinesView{Width: t.width, Style: t.style})
	table.writeHeading(&t.out)
	words := classWords[t.Diagnosis.Class]
	t.line("\n%s  %s", t.style.Warning.Render(strings.ToUpper(cmp.Or(words.name, string(t.Diagnosis.Class)))), words.meaning)
	if t.Diagnosis.StepMeanNs == 0 || !t.gpuKnown() {
		return
	}
	t.line("%s", t.sharesBar())
	var parts []string
	for _, row := range t.largestShares() {
		parts = append(parts, fmt.Sprintf("%s %s %s", t.shareStyle(row.Key).Render("■"), row.Name, Percent(row.Share)))
	}
	t.line("%s", ansi.Wrap("of the step: "+strings.Join(parts, " · "), t.width, ""))
}

// largestShares are the parts of at least half a per cent, largest first.
func (t *runText) largestShares() []shareRow {
	rows := slices.DeleteFunc(shareRows(t.Diagnosis.Shares), func(row shareRow) bool { return row.Share < 0.005 })
	slices.SortStableFunc(rows, func(a, b shareRow) int { return cmp.Compare(b.Share, a.Share) })
	return rows
}

// sharesBar draws the step as one bar of its parts.
func (t *runText) sharesBar() string {
	var bar strings.Builder
	width, drawn, sum := t.width-2, 0, 0.0
	for _, row := range t.largestShares() {
		sum += row.Share
		cells := int(sum*float64(width)+0.5) - drawn
		glyph := "█"
		if row.Key == "compute" {
			glyph = "▓"
		}
		bar.WriteString(t.shareStyle(row.Key).Render(strings.Repeat(glyph, max(cells, 0))))
		drawn += max(cells, 0)
	}
	return bar.String()
}

func (t *runText) shareStyle(key string) lipgloss.Style { return t.style.share(key) }

func (t *runText) evidence() {
	if len(t.Diagnosis.Evidence) == 0 {
		return
	}
	t.section("Why")
	for _, e := range t.Diagnosis.Evidence {
		t.wrapped("  • ", e.Message)
	}
	if t.Diagnosis.UnknownShare > 0.0005 {
		t.wrapped("  • ", fmt.Sprintf("%s of the idle time has no known cause", Percent(t.Diagnosis.UnknownShare)))
	}
}

func (t *runText) doFirst() {
	findings := t.pricedFindings()
	t.section("Do first")
	shown := 0
	for i := range findings {
		f := &findings[i]
		if f.Verdict == rules.Refuted || shown == shownFindings {
			break
		}
		shown++
		lead := fmt.Sprintf("  %d. ", shown)
		head := t.style.Strong.Render(f.Rule) + " " + f.Name
		if place := f.place(); place != "" {
			head = t.style.Heading.Render(Printable(place)) + "  " + head
		}
		price := findingPrice(f)
		if price != "" && ansi.StringWidth(lead+head+price)+2 > t.width {
			t.line("%s%s", lead, head)
			t.line("     %s", price)
		} else {
			t.line("%s%s  %s", lead, head, price)
		}
		t.wrapped("     ", f.Message)
		if f.Fix != "" {
			t.wrapped("     ", "fix: "+f.Fix)
		}
	}
	refuted := 0
	for i := range findings {
		if findings[i].Verdict == rules.Refuted {
			refuted++
		}
	}
	switch {
	case shown == 0 && refuted == 0 && !t.gpuKnown():
		t.line("  No finding.")
	case shown == 0 && refuted == 0:
		t.line("  No finding. What costs most is under \"Lines\".")
	case refuted > 0:
		t.line("%s", t.style.Dim.Render(fmt.Sprintf("  %s ran and cost nothing that matters here.", Plural(refuted, "more finding"))))
	}
	if rest := len(findings) - refuted - shown; rest > 0 {
		t.line("%s", t.style.Dim.Render(fmt.Sprintf("  %s in --format markdown and json.", Plural(rest, "more finding"))))
	}
}

// findingPrice is what a finding is about to save, in a few words; "" where the trace says nothing.
func findingPrice(f *pricedFinding) string {
	switch {
	case f.LowNs > 0:
		return fmt.Sprintf("saves %s a step (%s)", f.saving(), f.share())
	case f.HighNs > 0:
		return fmt.Sprintf("takes %s a step", Duration(float64(f.HighNs)))
	case f.Verdict == rules.NotObserved:
		return "did not run in the trace"
	default:
		return ""
	}
}

func (t *runText) ranks() {
	rows, rest := t.extremeRanks()
	if len(rows) < 2 {
		return
	}
	t.section("Ranks")
	if rest != "" {
		t.wrapped("  ", rest)
	}
	t.line("%s", t.style.Dim.Render("  rank      step  GPU busy  communication not hidden"))
	for _, row := range rows {
		t.line("  %4d  %8s  %8s  %8s", row.Rank, Duration(float64(row.MeanNs)), Percent(share(row.BusyNs, row.MeanNs)), Duration(float64(row.ExposedNs)))
	}
	for _, sentence := range t.stragglerSentences() {
		t.wrapped("  ", sentence)
	}
	for _, spread := range t.unevenLines() {
		t.wrapped("  ", spread.sentence())
	}
}

func (t *runText) phases() {
	step := t.middleStep()
	if step == nil || len(step.Phases) == 0 {
		return
	}
	title := fmt.Sprintf("Step %d", step.Number)
	if t.Costs.Summary.Ranks > 1 {
		title += fmt.Sprintf(" of rank %d", t.rank(step.Rank))
	}
	t.section(title + ", the one of median length: " + Duration(float64(step.DurNs())) + ", GPU busy " + Percent(share(step.BusyNs, step.DurNs())))
	opWidth := 12
	for _, phase := range step.Phases {
		opWidth = max(opWidth, min(ansi.StringWidth(Printable(phase.Op)), 28))
	}
	t.line("%s", t.style.Dim.Render("  "+padRight("op", opWidth)+"     start  duration  GPU use  the GPU idle mostly by"))
	for _, phase := range step.Phases {
		lead := fmt.Sprintf("  %s  %8s  %8s  %7s  ", padRight(ansi.Truncate(Printable(phase.Op), opWidth, "…"), opWidth),
			Duration(float64(phase.StartNs-step.StartNs)), Duration(float64(phase.DurNs())), Percent(share(phase.GPUBusyNs, phase.DurNs())))
		t.line("%s%s", lead, ansi.Truncate(Printable(idleReason(phase.Note)), max(t.width-ansi.StringWidth(lead), 10), "…"))
	}
}

// idleReason is what a phase's note says beyond the numbers that stand in the table: "launching work (gpt.py:63)".
func idleReason(note string) string {
	if _, reason, found := strings.Cut(note, "most of it: "); found {
		return reason
	}
	return note
}

func (t *runText) idle() {
	totals := t.causeTotals()
	if len(totals) == 0 {
		return
	}
	var idle int64
	for _, total := range totals {
		idle += total.NsPerStep
	}
	t.section("The GPU is idle " + Duration(float64(idle)) + " a step")
	for _, total := range totals {
		part := share(total.NsPerStep, idle)
		t.line("  %s  %8s  %7s  %s", padRight(causeWords[total.Cause], 24), Duration(float64(total.NsPerStep)), Percent(part),
			t.style.heat(part).Render(strings.TrimRight(bar(part, 24), " ")))
	}
}

func (t *runText) gaps() {
	step := t.middleStep()
	if step == nil || len(step.Gaps) == 0 {
		return
	}
	gaps := slices.Clone(step.Gaps)
	slices.SortStableFunc(gaps, func(a, b diagnose.Gap) int { return cmp.Compare(b.DurNs(), a.DurNs()) })
	t.section(fmt.Sprintf("Longest gaps of step %d, of %d", step.Number, len(gaps)))
	t.line("%s", t.style.Dim.Render("     start  duration  cause       line"))
	for i := range gaps[:min(len(gaps), shownGaps)] {
		gap := &gaps[i]
		place := "-"
		if file, line := placeOf(gap.Place, gap.Known); file != "" {
			place = fmt.Sprintf("%s:%d", file, line)
		}
		lead := fmt.Sprintf("  %8s  %8s  %s  %s  ", Duration(float64(gap.StartNs-step.StartNs)), Duration(float64(gap.DurNs())), padRight(gap.Cause.String(), 10), Printable(place))
		t.line("%s%s", lead, t.style.Dim.Render(ansi.Truncate(Printable(gapNote(gap)), max(t.width-ansi.StringWidth(lead), 10), "…")))
	}
}

// beside prints what the inputs beside the trace say.
func (t *runText) beside() {
	for _, s := range t.Beside.sections(shownFindings, t.besidePerStep()) {
		writeSectionText(&t.out, s, t.width, t.style)
	}
}

func (t *runText) quality() {
	limits := t.Set.limits(t.Run)
	if len(t.Diagnosis.Quality)+len(limits) > 0 {
		t.section("Trace quality")
		for _, q := range t.Diagnosis.Quality {
			t.wrapped("  • ", q.Message)
		}
		for _, sentence := range limits {
			t.wrapped("  • ", sentence)
		}
	}
	t.section("Lines")
}

// shareColours tell the parts of a step apart, with common colour blindness too; their names stand beside them.
var shareColours = map[string]string{
	"data": "208", "communication": "68", "sync": "178", "launch": "73", "copy": "140", "compute": "71", "other": "245",
}
