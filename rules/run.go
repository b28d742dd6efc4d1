package rules

import "fmt"

// Result is what Run found in one file.
type Result struct {
	Findings []Finding
}

// Run lints one file with the rules of list that the configuration selects, applies suppressions, reports unused ones,
// prices the findings when a trace is loaded, and sorts them. A rule that panics is reported as a finding of severity
// error on the file's first byte, and the others go on: one bad rule must not take the editor down.
func Run(list []*Rule, target Target, config Config) Result {
	facts := newFacts(target, config)
	defer facts.project.giveBack(facts.analysis)
	var findings []Finding
	ran := map[*Rule]bool{}
	for _, r := range list {
		if !config.Enabled(r, target.File.Path) {
			continue
		}
		ran[r] = true
		if !facts.applies(r) {
			continue
		}
		runRule(r, facts, &findings)
	}
	comments := suppressionsOf(facts.Tree)
	findings = suppress(facts.Tree, comments, findings)
	if config.Enabled(unusedSuppression, target.File.Path) {
		findings = append(findings, unusedFindings(facts.Tree, comments, list, func(r *Rule) bool { return ran[r] })...)
	}
	for i := range findings {
		if s := config.severityOf(findings[i].Rule); s != SeverityDefault {
			findings[i].Severity = s
		}
	}
	if target.Costs != nil {
		below := config.RefutedBelow
		if below == 0 {
			below = DefaultRefutedBelow
		}
		price(target.Costs, below, findings)
	}
	SortFindings(findings)
	return Result{Findings: findings}
}

func runRule(r *Rule, facts *Facts, findings *[]Finding) {
	before := len(*findings)
	defer func() {
		if trouble := recover(); trouble != nil {
			*findings = append((*findings)[:before], Finding{
				Rule: r, File: facts.File, Severity: Error,
				Message: fmt.Sprintf("rule %s failed on this file (%v): please report it; the other rules ran", r.ID, trouble),
			})
		}
	}()
	r.Check(&Pass{Facts: facts, rule: r, findings: findings})
}

// applies tells whether a rule's subject can occur in the project at all (guard g4). What tests do costs no training time.
func (f *Facts) applies(r *Rule) bool {
	return r.AnyFile || f.torch && (!r.NeedsGPU || f.usesGPU && !f.InTests())
}
