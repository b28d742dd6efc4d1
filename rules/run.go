package rules

import "fmt"

// Result is what Run found in one file.
type Result struct {
	Findings []Finding
	// Depends is what they rest on: an edit of another file that leaves it as it is changes nothing here. nil where a rule panicked.
	Depends *Dependencies
}

// Run lints one file with the rules of list that the configuration selects, applies suppressions, reports unused ones,
// prices the findings when a trace is loaded, and sorts them. A rule that panics is reported as a finding of severity
// error on the file's first byte (in a file that parses), and the others go on: one bad rule must not take the editor down.
func Run(list []*Rule, target Target, config Config) Result {
	result, live := RunLive(list, target, config)
	live.close()
	return result
}

func runRule(r *Rule, facts *Facts, findings *[]Finding) {
	trouble := tryRule(r, facts, findings)
	if trouble == nil || len(facts.File.SyntaxErrors) > 0 { // half a statement that no rule has seen the like of yet
		return
	}
	*findings = append(*findings, Finding{
		Rule: r, File: facts.File, Severity: Error,
		Message: fmt.Sprintf("rule %s failed on this file (%v): please report it; the other rules ran", r.ID, trouble),
	})
}

// tryRule runs a rule. It returns what the rule panicked with, nil if it did not; a rule that did has found nothing.
func tryRule(r *Rule, facts *Facts, findings *[]Finding) (trouble any) {
	before := len(*findings)
	defer func() {
		if trouble = recover(); trouble != nil {
			facts.unwind()
			*findings = (*findings)[:before]
		}
	}()
	r.Check(&Pass{Facts: facts, rule: r, findings: findings})
	return nil
}

// applies tells whether a rule's subject can occur in the project at all (guard g4). What tests do costs no training time.
func (f *Facts) applies(r *Rule) bool {
	return r.AnyFile || f.torch && (!r.NeedsGPU || f.usesGPU && !f.InTests())
}
