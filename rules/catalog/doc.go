// Package catalog lists every rule. The list is generated from the folders of rules; cmd, lsp, report and analysis take
// the rules from here.
package catalog

//go:generate go run stepline/rules/internal/generate
//go:generate go run stepline/rules/internal/rulestable

import (
	"slices"
	"strings"

	"stepline/rules"
)

// All is every rule, by family in the catalogue's order, then by number. The caller owns the slice.
func All() []*rules.Rule { return slices.Clone(all) }

// Find returns the rule of that id or name in any case, nil if there is none.
func Find(idOrName string) *rules.Rule {
	for _, r := range append(All(), rules.UnusedSuppression()) {
		if strings.EqualFold(r.ID, idOrName) || strings.EqualFold(r.Name, idOrName) {
			return r
		}
	}
	return nil
}
