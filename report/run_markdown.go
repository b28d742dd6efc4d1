package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"stepline/rules"
	"stepline/traceindex/diagnose"
)

// WriteRunMarkdown prints the attribution report: bottleneck type, root cause, fixes with what they save, validation, then
// the step's table, the gaps, the hot lines and what limits the trace. It reads well in an issue or a pull request.
func WriteRunMarkdown(w io.Writer, r *Run) error {
	m := &markdown{Run: r}
	if r.Costs.Summary.Ranks == 0 && !r.Beside.Empty() { // no trace: the other inputs speak for themselves
		m.line("# What is known without a trace\n")
		m.beside()
		m.limits()
		_, err := io.WriteString(w, m.out.String())
		return err
	}
	m.heading()
	m.rootCause()
	m.fixes()
	m.validation()
	if m.gpuKnown() {
		m.ranks()
		m.step()
		m.gaps()
		m.lines()
	}
	m.beside()
	m.limits()
	_, err := io.WriteString(w, m.out.String())
	return err
}

type markdown struct {
	*Run
	out strings.Builder
}

func (m *markdown) line(format string, arguments ...any) {
	fmt.Fprintf(&m.out, format+"\n", arguments...)
}

// cell makes text safe inside a table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "\r", " ", "<", "&lt;").Replace(Printable(text))
}

// text makes a sentence safe outside tables.
func text(sentence string) string { return strings.ReplaceAll(Printable(sentence), "<", "&lt;") }

// code quotes source inside a table.
func code(source string) string {
	source = strings.ReplaceAll(Printable(strings.TrimSpace(source)), "|", `\|`)
	switch {
	case source == "":
		return ""
	case strings.Contains(source, "`"):
		return "`` " + source + " ``"
	default:
		return "`" + source + "`"
	}
}

func (m *markdown) heading() {
	s := m.Costs.Summary
	m.line("# Where the step's time goes: %s\n", cell(traceNames(s.Files)))
	facts := []string{}
	if s.Device != "" {
		facts = append(facts, cell(s.Device))
	}
	if s.Ranks > 1 {
		facts = append(facts, Plural(s.Ranks, "rank"))
	}
	if s.Steps > 0 {
		facts = append(facts, fmt.Sprintf("%s of %s", Plural(s.Steps, "step"), Duration(float64(s.StepMeanNs))))
	}
	var busy int64
	for i := range m.Diagnosis.Steps {
		busy += m.Diagnosis.Steps[i].BusyNs
	}
	if n := len(m.Diagnosis.Steps); n > 0 && m.Diagnosis.StepMeanNs > 0 && m.gpuKnown() {
		facts = append(facts, "GPU busy "+Percent(share(busy/int64(n), m.Diagnosis.StepMeanNs)))
	}
	m.line("%s\n", strings.Join(facts, " · "))
	words := classWords[m.Diagnosis.Class]
	m.line("**Bottleneck type: %s** (%s)\n", cmp.Or(words.name, string(m.Diagnosis.Class)), words.meaning)
	if m.Diagnosis.StepMeanNs > 0 && m.gpuKnown() {
		m.line("| part of the step | share | a step |\n| --- | ---: | ---: |")
		for _, row := range shareRows(m.Diagnosis.Shares) {
			m.line("| %s | %s | %s |", row.Name, Percent(row.Share), Duration(row.Share*float64(m.Diagnosis.StepMeanNs)))
		}
		m.line("")
	}
}

func (m *markdown) rootCause() {
	if !m.gpuKnown() {
		return
	}
	m.line("## Root cause\n")
	if len(m.Diagnosis.Evidence) == 0 {
		m.line("No single line holds a notable part of the step.\n")
		return
	}
	for _, e := range m.Diagnosis.Evidence {
		m.line("- %s", text(e.Message))
	}
	if m.Diagnosis.UnknownShare > 0.0005 {
		m.line("- %s of the idle time has no known cause", Percent(m.Diagnosis.UnknownShare))
	}
	m.line("")
}

func (m *markdown) fixes() {
	m.line("## Fix\n")
	findings := m.pricedFindings()
	if len(findings) == 0 {
		m.line("No finding.\n")
		return
	}
	m.line("| place | finding | what to do | saves a step | of the step |\n| --- | --- | --- | ---: | ---: |")
	for i := range findings {
		f := &findings[i]
		saves, part := "", ""
		switch {
		case f.Verdict == rules.Refuted:
			saves = "nothing that matters"
		case f.Verdict == rules.NotObserved:
			saves = "did not run"
		case f.HighNs > 0:
			saves, part = f.saving(), f.share()
		}
		action := cell(f.Message)
		if f.Fix != "" {
			action += " (fix: " + cell(f.Fix) + ")"
		}
		m.line("| %s | %s %s | %s | %s | %s |", cell(f.place()), f.Rule, f.Name, action, saves, part)
	}
	m.line("\nSavings are what the trace shows to be removable on the step's critical path; they do not add up where they overlap.\n")
}

func (m *markdown) validation() {
	files := make([]string, len(m.Costs.Summary.Files))
	for i, file := range m.Costs.Summary.Files {
		files[i] = shellWord(file)
	}
	m.line("## Validation\n")
	m.line("Record the mended script and compare:\n")
	m.line("```sh\nstepline record -o after -- python train.py\nstepline diff %s --with after\n```\n", strings.Join(files, " "))
}

// shellWord quotes a word for a POSIX shell where it needs to be.
func shellWord(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+=:@%,", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(Printable(word), "'", `'\''`) + "'"
}

func (m *markdown) ranks() {
	rows, rest := m.extremeRanks()
	if len(rows) < 2 {
		return
	}
	m.line("## Ranks\n")
	if rest != "" {
		m.line("%s\n", text(rest))
	}
	m.line("| rank | step | GPU busy | communication not hidden |\n| ---: | ---: | ---: | ---: |")
	for _, row := range rows {
		m.line("| %d | %s | %s | %s |", row.Rank, Duration(float64(row.MeanNs)), Percent(share(row.BusyNs, row.MeanNs)), Duration(float64(row.ExposedNs)))
	}
	m.line("")
	for _, sentence := range m.stragglerSentences() {
		m.line("- %s", text(sentence))
	}
	for _, spread := range m.unevenLines() {
		m.line("- %s", text(spread.sentence()))
	}
	m.line("")
}

func (m *markdown) step() {
	step := m.middleStep()
	if step == nil || len(step.Phases) == 0 {
		return
	}
	m.line("## The step\n")
	of := ""
	if m.Costs.Summary.Ranks > 1 {
		of = fmt.Sprintf(" of rank %d", m.rank(step.Rank))
	}
	m.line("Step %d%s, the one of median length: %s.\n", step.Number, of, Duration(float64(step.DurNs())))
	m.line("| op | start | duration | GPU use | depends on | note |\n| --- | ---: | ---: | ---: | --- | --- |")
	for _, phase := range step.Phases {
		m.line("| %s | %s | %s | %s | %s | %s |", cell(phase.Op), Duration(float64(phase.StartNs-step.StartNs)), Duration(float64(phase.DurNs())),
			Percent(share(phase.GPUBusyNs, phase.DurNs())), cell(phase.DependsOn), cell(phase.Note))
	}
	m.line("")
}

func (m *markdown) gaps() {
	totals := m.causeTotals()
	if len(totals) == 0 {
		return
	}
	m.line("## Idle time of the GPU\n")
	m.line("| cause | a step | of the step | gaps |\n| --- | ---: | ---: | ---: |")
	for _, total := range totals {
		m.line("| %s | %s | %s | %d |", causeWords[total.Cause], Duration(float64(total.NsPerStep)), Percent(share(total.NsPerStep, m.Diagnosis.StepMeanNs)), total.Gaps)
	}
	m.line("\n| line | idle a step | cause | source |\n| --- | ---: | --- | --- |")
	for _, row := range m.idleLines(10) {
		m.line("| %s | %s | %s | %s |", cell(row.place()), Duration(float64(row.NsPerStep)), causeWords[row.Cause], code(m.source(row.File, row.Line)))
	}
	m.line("")
}

func (m *markdown) lines() {
	m.line("## Hot lines\n")
	count, _ := StepCount(m.Costs.Summary)
	unit := "a step"
	if m.Costs.Summary.Steps == 0 {
		unit = "in the trace"
	}
	m.line("| line | source | forward %s | backward | of GPU | kernels | sure |\n| --- | --- | ---: | ---: | ---: | ---: | --- |", unit)
	for _, line := range RankLines(m.Costs.Lines, OrderGPU, 15) {
		if line.GPUNs() == 0 {
			break
		}
		m.line("| %s:%d | %s | %s | %s | %s | %s | %s |", cell(line.File), line.Line, code(m.source(line.File, line.Line)),
			Duration(float64(line.SelfNs)/float64(count)), Duration(float64(line.BackwardNs)/float64(count)),
			Percent(share(line.GPUNs(), m.Costs.Summary.GPUTotalNs)), Count(line.Kernels/int64(count)), line.Confidence)
	}
	m.line("")
}

func (m *markdown) limits() {
	limits := m.Set.limits(m.Run)
	if len(m.Diagnosis.Quality)+len(m.Warnings)+len(limits) == 0 {
		return
	}
	m.line("## What limits this trace\n")
	for _, q := range m.Diagnosis.Quality {
		m.line("- %s", text(q.Message))
	}
	for _, sentence := range limits {
		m.line("- %s", text(sentence))
	}
	for _, warning := range m.Warnings {
		m.line("- %s", text(warning.Message))
	}
	m.line("")
}

// idleLine is the GPU's idle time of one cause at one line, per step.
type idleLine struct {
	File      string
	Line      int
	Function  string
	Cause     diagnose.Cause
	NsPerStep int64
	Gaps      int
}

func (l *idleLine) place() string {
	if l.File == "" {
		return "no line"
	}
	return fmt.Sprintf("%s:%d", l.File, l.Line)
}
