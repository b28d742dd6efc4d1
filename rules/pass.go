package rules

import (
	"slices"

	"stepline/pyscan"
)

// Target is what one run lints.
type Target struct {
	File *pyscan.File
	// Project is the workspace around the file; nil lints the file alone. The file takes the place of the project's of its path.
	Project *Project
	// Costs is the loaded trace, nil without one.
	Costs Costs
}

// Pass is one rule looking at one file. Rules read it and report; they keep nothing.
type Pass struct {
	*Facts
	rule     *Rule
	findings *[]Finding
}

// Guard names the shared guards a rule asks for when it reports.
type Guard uint8

const (
	// NotPeriodic drops the finding where the statement (or the call that leads to it) runs every N steps only: g1.
	NotPeriodic Guard = iota + 1
	// QuieterInEval lowers the severity by one under no_grad or in an evaluation function: g2.
	QuieterInEval
)

// Report adds a finding. at is the site the guards look at; f.File, Rule and Severity are filled where they are unset.
func (p *Pass) Report(at *Site, f Finding, guards ...Guard) {
	f.Rule = p.rule
	if f.File == nil {
		f.File = p.File
	}
	if f.Span == (pyscan.Span{}) {
		f.Span = at.Range()
	}
	if f.Severity == SeverityDefault {
		f.Severity = p.rule.Severity
	}
	for _, g := range guards {
		switch g {
		case NotPeriodic:
			if p.Periodic(at) {
				return
			}
		case QuieterInEval:
			if p.InEvaluation(at) {
				f.Severity = f.Severity.Lower()
			}
		}
	}
	*p.findings = append(*p.findings, f)
}

// ReportHot is Report with the places that show why the code runs every step.
func (p *Pass) ReportHot(at *Site, hot *Heat, f Finding, guards ...Guard) {
	if hot.Evaluation && !p.InEvaluation(at) && slices.Contains(guards, QuieterInEval) {
		if f.Severity == SeverityDefault {
			f.Severity = p.rule.Severity
		}
		f.Severity = f.Severity.Lower()
	}
	f.Related = append(f.Related, hot.Related()...)
	p.Report(at, f, guards...)
}

func lineOf(file *pyscan.File, offset int) int { return file.Lines().Line(offset) }

// Line is the 1-based line of an offset.
func (p *Pass) LineAt(offset int) int { return lineOf(p.File, offset) }
