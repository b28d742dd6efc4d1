package rules

import (
	"fmt"

	"stepline/pyscan"
)

// Target is what one run lints.
type Target struct {
	File *pyscan.File
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
			f.Severity = f.Severity.Lower()
		}
	}
	*p.findings = append(*p.findings, f)
}

// Sprintf is fmt.Sprintf, here so that rules need no import for it.
func (p *Pass) Sprintf(format string, args ...any) string { return fmt.Sprintf(format, args...) }

func lineOf(file *pyscan.File, offset int) int { return file.Lines().Line(offset) }

// Line is the 1-based line of an offset.
func (p *Pass) LineAt(offset int) int { return lineOf(p.File, offset) }
