package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"stepline/rules"
)

type (
	// RulesDocument is the output of `rules --format json`.
	RulesDocument struct {
		Schema int       `json:"schema"`
		Rules  []RuleRow `json:"rules"`
	}
	// RuleRow is one rule.
	RuleRow struct {
		ID       string `json:"id"`
		Name     string `json:"name"`
		Family   string `json:"family"`
		Summary  string `json:"summary"`
		Severity string `json:"severity"`
		Fix      string `json:"fix"`
		Price    string `json:"price,omitempty"`
		URL      string `json:"url"`
	}
)

// NewRulesDocument writes the rules down in their order.
func NewRulesDocument(list []*rules.Rule) RulesDocument {
	document := RulesDocument{Schema: SchemaVersion, Rules: make([]RuleRow, 0, len(list))}
	for _, rule := range list {
		document.Rules = append(document.Rules, RuleRow{
			ID: rule.ID, Name: rule.Name, Family: rules.FamilyTitle(rule.Family()), Summary: rule.Summary,
			Severity: rule.Severity.String(), Fix: rule.Fix.String(), Price: rule.Price.String(), URL: rule.PageURL(),
		})
	}
	return document
}

// WriteRulesText prints the rules by family, one a line.
func WriteRulesText(w io.Writer, list []*rules.Rule, style Style) error {
	var out strings.Builder
	var families []string
	for _, rule := range list {
		if !slices.Contains(families, rule.Family()) {
			families = append(families, rule.Family())
		}
	}
	nameWidth := 0
	for _, rule := range list {
		nameWidth = max(nameWidth, len(rule.Name))
	}
	for i, family := range families {
		if i > 0 {
			out.WriteString("\n")
		}
		out.WriteString(style.Heading.Render(family+"  "+rules.FamilyTitle(family)) + "\n")
		for _, rule := range list {
			if rule.Family() != family {
				continue
			}
			fix := ""
			if rule.Fix != rules.NoFix {
				fix = style.Dim.Render(fmt.Sprintf("  [%s fix]", rule.Fix))
			}
			fmt.Fprintf(&out, "  %s  %s  %s%s\n", style.Strong.Render(rule.ID), padRight(rule.Name, nameWidth), rule.Summary, fix)
		}
	}
	out.WriteString("\n" + style.Dim.Render("`stepline explain RULE` prints a rule's page.") + "\n")
	_, err := io.WriteString(w, out.String())
	return err
}
