package report

import (
	"cmp"
	"crypto/sha256"
	_ "embed" // the page's template, style and script
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"

	"stepline/rules"
	"stepline/traceindex/diagnose"
)

var (
	//go:embed html/report.html.tmpl
	pageTemplate string
	//go:embed html/report.css
	pageStyle string
	//go:embed html/report.js
	pageScript string

	page = template.Must(template.New("report").Funcs(template.FuncMap{"prose": prose}).Parse(pageTemplate))
)

// prose is a message with its `code` set as code.
func prose(text string) template.HTML {
	var out strings.Builder
	for i, part := range strings.Split(Printable(text), "`") {
		if i%2 == 1 {
			out.WriteString("<code>" + template.HTMLEscapeString(part) + "</code>")
			continue
		}
		out.WriteString(template.HTMLEscapeString(part))
	}
	return template.HTML(out.String()) // escaped piece by piece above
}

// WriteRunHTML prints the report as one self-contained page: no network, a strict content security policy, light and dark,
// fit for print. Places are links with data-file and data-line, for a viewer that can open them.
func WriteRunHTML(w io.Writer, r *Run) error { return page.Execute(w, newPage(r)) }

type (
	htmlPage struct {
		Title, Facts, ClassName, ClassMeaning, Version string
		// ScriptHash is trusted: it is the hash of our own script, in base64.
		ScriptHash   template.HTMLAttr
		Style        template.CSS
		Script       template.JS
		Shares       []htmlShare
		Evidence     []htmlEvidence
		Findings     []htmlFinding
		Ranks        []htmlRank
		Stragglers   []string
		NotDrawn     string
		Causes       []htmlCause
		Ops          []htmlCause
		Timelines    []htmlTimeline
		Step         *htmlStep
		Idle         []htmlIdle
		Lines        []htmlLine
		Unattributed []string
		Beside       []htmlSection
		Limits       []string
	}
	htmlPlace struct {
		File string
		Line int
	}
	htmlShare    struct{ Key, Name, Percent, Time, Flex string }
	htmlEvidence struct {
		Message string
		Place   *htmlPlace
	}
	htmlFinding struct {
		Place                                            *htmlPlace
		Rule, Name, Message, Fix, Evidence, Saves, Share string
	}
	htmlRank struct {
		Rank                int
		Mean, Busy, Exposed string
		BusyWidth           string
	}
	htmlCause struct{ Key, Name string }
	htmlStep  struct {
		Title  string
		Phases []htmlPhaseRow
	}
	htmlPhaseRow struct{ Op, Start, Duration, Use, DependsOn, Note string }
	htmlIdle     struct {
		Place                           *htmlPlace
		Source, Cause, Key, Time, Width string
	}
	htmlLine struct {
		Place                                                            *htmlPlace
		Function, Source, Forward, Backward, Share, Width, Kernels, Sure string
	}
)

// String is "gpt.py:24".
func (p *htmlPlace) String() string {
	if p.Line <= 0 {
		return p.File
	}
	return p.File + ":" + strconv.Itoa(p.Line)
}

func newHTMLPlace(file string, line int) *htmlPlace {
	if file == "" {
		return nil
	}
	return &htmlPlace{Printable(file), line}
}

func newPage(r *Run) *htmlPage {
	s := r.Costs.Summary
	hash := sha256.Sum256([]byte(pageScript))
	words := classWords[r.Diagnosis.Class]
	p := &htmlPage{
		Title: traceNames(s.Files), ClassName: cmp.Or(words.name, string(r.Diagnosis.Class)), ClassMeaning: words.meaning, Version: r.Version,
		ScriptHash: template.HTMLAttr("sha256-" + base64.StdEncoding.EncodeToString(hash[:])), // our own bytes
		Style:      template.CSS(pageStyle), Script: template.JS(pageScript),
	}
	if s.Ranks == 0 && !r.Beside.Empty() {
		p.ClassName, p.ClassMeaning = "no trace", "what the other inputs say by themselves"
	}
	var facts []string
	for _, fact := range []string{Printable(s.Device), plural0(s.Ranks, "rank"), plural0(s.Steps, "step")} {
		if fact != "" {
			facts = append(facts, fact)
		}
	}
	if s.StepMeanNs > 0 {
		facts = append(facts, Duration(float64(s.StepMeanNs))+" a step")
	}
	p.Facts = strings.Join(facts, " · ")
	for _, row := range shareRows(r.Diagnosis.Shares) {
		if row.Share > 0 && r.gpuKnown() {
			p.Shares = append(p.Shares, htmlShare{row.Key, row.Name, Percent(row.Share), Duration(row.Share * float64(r.Diagnosis.StepMeanNs)), decimal(row.Share * 1000)})
		}
	}
	for _, e := range r.Diagnosis.Evidence {
		file, line := placeOf(e.Place, e.Known)
		p.Evidence = append(p.Evidence, htmlEvidence{e.Message, newHTMLPlace(file, line)})
	}
	p.addFindings(r)
	if r.gpuKnown() {
		p.addRanks(r)
		p.addTimelines(r)
		p.addStep(r)
		p.addLines(r)
	}
	p.addBeside(r)
	for _, q := range r.Diagnosis.Quality {
		p.Limits = append(p.Limits, Printable(q.Message))
	}
	for _, sentence := range r.Set.limits(r) {
		p.Limits = append(p.Limits, Printable(sentence))
	}
	for _, warning := range r.Warnings {
		p.Limits = append(p.Limits, Printable(warning.Message))
	}
	return p
}

func plural0(n int, noun string) string {
	if n <= 0 {
		return ""
	}
	return Plural(n, noun)
}

func decimal(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }

func (p *htmlPage) addFindings(r *Run) {
	for _, f := range r.pricedFindings() {
		row := htmlFinding{Place: newHTMLPlace(f.File, f.Line), Rule: f.Rule, Name: f.Name, Message: f.Message, Fix: f.Fix, Evidence: f.Evidence}
		switch {
		case f.Verdict == rules.Refuted:
			row.Saves = "nothing that matters"
		case f.Verdict == rules.NotObserved:
			row.Saves = "did not run"
		case f.HighNs > 0:
			row.Saves, row.Share = f.saving(), f.share()
		}
		p.Findings = append(p.Findings, row)
	}
}

func (p *htmlPage) addRanks(r *Run) {
	rows, rest := r.extremeRanks()
	if len(rows) < 2 {
		return
	}
	if rest != "" {
		p.Stragglers = append(p.Stragglers, rest)
	}
	for _, row := range rows {
		busy := share(row.BusyNs, row.MeanNs)
		p.Ranks = append(p.Ranks, htmlRank{row.Rank, Duration(float64(row.MeanNs)), Percent(busy), Duration(float64(row.ExposedNs)), decimal(busy * 100)})
	}
	for _, sentence := range r.stragglerSentences() {
		p.Stragglers = append(p.Stragglers, sentence+".")
	}
	for _, spread := range r.unevenLines() {
		p.Stragglers = append(p.Stragglers, spread.sentence()+".")
	}
}

func (p *htmlPage) addStep(r *Run) {
	step := r.middleStep()
	if step == nil || len(step.Phases) == 0 {
		return
	}
	p.Step = &htmlStep{Title: r.stepTitle(step) + ", the one of median length"}
	for _, phase := range step.Phases {
		p.Step.Phases = append(p.Step.Phases, htmlPhaseRow{
			Printable(phase.Op), Duration(float64(phase.StartNs - step.StartNs)), Duration(float64(phase.DurNs())),
			Percent(share(phase.GPUBusyNs, phase.DurNs())), Printable(phase.DependsOn), Printable(phase.Note),
		})
	}
	idle := r.idleLines(15)
	for _, row := range idle {
		p.Idle = append(p.Idle, htmlIdle{
			newHTMLPlace(row.File, row.Line), Printable(strings.TrimSpace(r.source(row.File, row.Line))), causeWords[row.Cause], row.Cause.String(),
			Duration(float64(row.NsPerStep)), decimal(100 * share(row.NsPerStep, idle[0].NsPerStep)),
		})
	}
}

func (r *Run) stepTitle(step *diagnose.Step) string {
	title := fmt.Sprintf("Step %d", step.Number)
	if r.Costs.Summary.Ranks > 1 {
		title += fmt.Sprintf(" of rank %d", r.rank(step.Rank))
	}
	return title
}

func (p *htmlPage) addLines(r *Run) {
	count, _ := StepCount(r.Costs.Summary)
	lines := RankLines(r.Costs.Lines, OrderGPU, 30)
	for i := range lines {
		line := &lines[i]
		if line.GPUNs() == 0 {
			break
		}
		p.Lines = append(p.Lines, htmlLine{
			newHTMLPlace(line.File, line.Line), Printable(line.Function), Printable(strings.TrimSpace(r.source(line.File, line.Line))),
			Duration(float64(line.SelfNs) / float64(count)), Duration(float64(line.BackwardNs) / float64(count)),
			Percent(share(line.GPUNs(), r.Costs.Summary.GPUTotalNs)), decimal(100 * share(line.GPUNs(), lines[0].GPUNs())),
			Count(line.Kernels / int64(count)), line.Confidence.String(),
		})
	}
	for i := range r.Costs.Unattributed {
		row := &r.Costs.Unattributed[i]
		p.Unattributed = append(p.Unattributed, unattributedText(row)+" "+Duration(float64(row.Ns)/float64(count)))
	}
}

// drawnSteps bounds how many steps are drawn, drawnGaps how many of a step's gaps say what they are.
const (
	drawnSteps = 8
	drawnGaps  = 150
)

type (
	htmlTimeline struct {
		Title, Facts, Duration string
		DurationNs             int64
		Busy                   string
		Phases                 []htmlRect
		Gaps                   []htmlGapPath
		Longest                []htmlRect
	}
	htmlRect    struct{ X, W, Colour, Label string }
	htmlGapPath struct{ Key, Name, Path string }
)

// addTimelines draws steps, the same number of each rank.
func (p *htmlPage) addTimelines(r *Run) {
	steps := r.Diagnosis.Steps
	if len(steps) == 0 {
		return
	}
	perRank := max(1, drawnSteps/max(1, r.Costs.Summary.Ranks))
	drawn := map[int]int{}
	causes := map[diagnose.Cause]bool{}
	for i := range steps {
		step := &steps[i]
		if drawn[step.Rank] >= perRank || len(p.Timelines) >= drawnSteps || step.DurNs() <= 0 || !r.detailed(step) {
			continue
		}
		drawn[step.Rank]++
		p.Timelines = append(p.Timelines, newTimeline(r, step))
		for _, gap := range step.Gaps {
			causes[gap.Cause] = true
		}
	}
	if rest := len(steps) - len(p.Timelines); rest > 0 {
		p.NotDrawn = Plural(rest, "more step") + " in --format json."
	}
	p.Ops = phaseLegend
	for cause := range causes {
		p.Causes = append(p.Causes, htmlCause{cause.String(), causeWords[cause]})
	}
	slices.SortFunc(p.Causes, func(a, b htmlCause) int { return strings.Compare(a.Name, b.Name) })
}

var phaseColours = []struct{ prefix, colour string }{
	{"data", "data"}, {"forward", "accent"}, {"backward", "copy"}, {"optimizer", "sync"}, {"zero_grad", "allocator"}, {"", "other"},
}

var phaseLegend = []htmlCause{
	{"data", "data loading"}, {"accent", "forward"}, {"copy", "backward"}, {"sync", "optimizer"}, {"allocator", "zero_grad"}, {"other", "other"},
}

func newTimeline(r *Run, step *diagnose.Step) htmlTimeline {
	t := htmlTimeline{
		Title: r.stepTitle(step), Duration: Duration(float64(step.DurNs())), DurationNs: step.DurNs(),
		Facts: Duration(float64(step.DurNs())) + ", GPU busy " + Percent(share(step.BusyNs, step.DurNs())),
	}
	x := func(ns int64) float64 { return 10000 * float64(ns-step.StartNs) / float64(step.DurNs()) }
	var busy strings.Builder
	paths := map[diagnose.Cause]*strings.Builder{}
	at := step.StartNs
	for i := range step.Gaps {
		gap := &step.Gaps[i]
		block(&busy, x(at), x(gap.StartNs), 2)
		at = max(at, gap.EndNs)
		if paths[gap.Cause] == nil {
			paths[gap.Cause] = &strings.Builder{}
		}
		block(paths[gap.Cause], x(gap.StartNs), x(gap.EndNs), 54)
	}
	block(&busy, x(at), x(step.EndNs), 2)
	t.Busy = busy.String()
	for cause, path := range paths {
		t.Gaps = append(t.Gaps, htmlGapPath{cause.String(), causeWords[cause], path.String()})
	}
	slices.SortFunc(t.Gaps, func(a, b htmlGapPath) int { return strings.Compare(a.Key, b.Key) })
	for _, phase := range step.Phases {
		colour := ""
		for _, each := range phaseColours {
			if strings.HasPrefix(phase.Op, each.prefix) {
				colour = each.colour
				break
			}
		}
		t.Phases = append(t.Phases, htmlRect{decimal(x(phase.StartNs)), decimal(x(phase.EndNs) - x(phase.StartNs)), colour,
			Printable(phase.Op) + ", " + Duration(float64(phase.DurNs())) + ", GPU use " + Percent(share(phase.GPUBusyNs, phase.DurNs()))})
	}
	longest := slices.Clone(step.Gaps)
	slices.SortStableFunc(longest, func(a, b diagnose.Gap) int { return cmp.Compare(b.DurNs(), a.DurNs()) })
	for i := range longest[:min(drawnGaps, len(longest))] {
		gap := &longest[i]
		label := Duration(float64(gap.DurNs())) + " idle, " + causeWords[gap.Cause]
		if file, line := placeOf(gap.Place, gap.Known); file != "" {
			label += fmt.Sprintf(", %s:%d", file, line)
		}
		if note := gapNote(gap); note != "" {
			label += ", " + Printable(note)
		}
		t.Longest = append(t.Longest, htmlRect{X: decimal(x(gap.StartNs)), W: decimal(x(gap.EndNs) - x(gap.StartNs)), Label: label})
	}
	return t
}

// block adds a rectangle of a lane (22 high) to a path.
func block(path *strings.Builder, from, to float64, y int) {
	if to-from < 0.005 { // under 1/2,000,000 of the step: no zoom shows it
		return
	}
	fmt.Fprintf(path, "M%s %dH%sV%dH%sZ", decimal(from), y, decimal(to), y+22, decimal(from))
}
