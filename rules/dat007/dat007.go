// Package dat007 holds the rule DAT007 h5py-default-chunk-cache: an HDF5 file is read through the default chunk cache of 1 MiB.
package dat007

import (
	_ "embed"
	"fmt"

	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is DAT007.
var Rule = &rules.Rule{
	ID:       "DAT007",
	Name:     "h5py-default-chunk-cache",
	Summary:  "an HDF5 file is read through the default chunk cache of 1 MiB",
	Severity: rules.Info,
	Fix:      rules.NoFix,
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	for _, at := range p.CallsTo("h5py.File") {
		call := at.Call()
		if rules.HasOpenArguments(call) || rules.Keyword(call, "rdcc_nbytes") != nil || rules.Keyword(call, "driver") != nil || !p.InDataset(at) || !p.KeptForItems(at) {
			continue
		}
		if mode, ok := rules.StringValue(rules.Argument(call, 1, "mode")); ok && mode != "r" {
			continue
		}
		p.Report(at, rules.Finding{
			Message: fmt.Sprintf("`%s` reads through HDF5's default chunk cache (1 MiB per dataset): a chunk that is larger, or read again later, is decompressed each time; set `rdcc_nbytes` to a few chunks' size", p.Line(at)),
		})
	}
}
