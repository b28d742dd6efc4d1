package analysis

import (
	"cmp"
	"context"
	"slices"

	"stepline/pyscan"
	"stepline/rules"
	"stepline/traceindex"
)

// Fixed is what mending gave.
type Fixed struct {
	// Checked is the lint of the new texts: what is left.
	*Checked
	// Before and After are the texts of the files that changed, by path.
	Before, After map[string]string
	// Applied is the number of findings that were mended.
	Applied int
}

// maxFixRounds bounds how often a file is mended and linted again: fixes that overlap wait for the next round, and a fix can
// uncover another. Fixes never undo each other, so more rounds than this are a mistake of a rule.
const maxFixRounds = 10

// Fix applies the preferred fixes of at least the given safety until none is left, in memory: nothing is written.
func (w *Workspace) Fix(ctx context.Context, checked *Checked, safety rules.Safety, costs rules.Costs) (*Fixed, error) {
	return w.mend(ctx, checked, costs, func(now *Checked) []rules.Fix {
		var fixes []rules.Fix
		for i := range now.Findings {
			if fix := now.Findings[i].Fix(); fix != nil && fix.Safety >= safety && len(fix.Edits) > 0 {
				fixes = append(fixes, *fix)
			}
		}
		return fixes
	})
}

// AddIgnores writes an ignore comment for every finding above hint level, in memory.
func (w *Workspace) AddIgnores(ctx context.Context, checked *Checked, costs rules.Costs) (*Fixed, error) {
	first := true
	return w.mend(ctx, checked, costs, func(now *Checked) []rules.Fix {
		if !first { // an ignore that silences nothing would be repeated for ever
			return nil
		}
		first = false
		byFile := map[*pyscan.File][]rules.Finding{}
		for _, f := range now.Findings {
			if f.Severity > rules.Hint {
				byFile[f.File] = append(byFile[f.File], f)
			}
		}
		var fixes []rules.Fix
		for _, file := range now.Files {
			if fix, _ := rules.AddIgnores(file, byFile[file]); len(fix.Edits) > 0 {
				fixes = append(fixes, fix)
			}
		}
		return fixes
	})
}

func (w *Workspace) mend(ctx context.Context, checked *Checked, costs rules.Costs, choose func(*Checked) []rules.Fix) (*Fixed, error) {
	fixed := &Fixed{Checked: checked, Before: map[string]string{}, After: map[string]string{}}
	for range maxFixRounds {
		fixes := choose(fixed.Checked)
		if len(fixes) == 0 {
			break
		}
		texts, taken := fixed.apply(fixes)
		if taken == 0 {
			break
		}
		fixed.Applied += taken
		sources := make([]Source, 0, len(fixed.Files))
		for _, file := range fixed.Files {
			before := fixed.Texts[file]
			text, changed := texts[file]
			if !changed {
				text = before
			} else if _, known := fixed.Before[file.Path]; !known {
				fixed.Before[file.Path] = before
			}
			if changed {
				fixed.After[file.Path] = text
			}
			sources = append(sources, Source{file.Path, text})
		}
		again, err := w.CheckSources(ctx, sources, costs)
		if err != nil {
			return nil, err
		}
		again.Warnings = append(fixed.passedOver(), again.Warnings...)
		fixed.Checked = again
	}
	return fixed, nil
}

// passedOver are the warnings about files that have no model and so are in no later round.
func (c *Checked) passedOver() []traceindex.Warning {
	return slices.DeleteFunc(slices.Clone(c.Warnings), func(w traceindex.Warning) bool { return w.Code == "syntax-error" })
}

// apply combines fixes into the new texts of the files that change, as they are stored: a notebook's as JSON. taken counts
// the fixes that are in them.
func (c *Checked) apply(fixes []rules.Fix) (texts map[*pyscan.File]string, taken int) {
	applied := rules.ApplyFixes(fixes)
	texts = map[*pyscan.File]string{}
	inNotebooks := map[*pyscan.File][]rules.Fix{}
	for i, fix := range fixes {
		if !applied.Taken[i] {
			continue
		}
		if file := fix.Edits[0].File; c.Notebooks[file] != nil {
			inNotebooks[file] = append(inNotebooks[file], fix)
			continue
		}
		taken++
	}
	for file, text := range applied.Texts {
		if c.Notebooks[file] == nil {
			texts[file] = text
		}
	}
	for file, list := range inNotebooks {
		text, count := writeNotebook(c.Notebooks[file], list)
		if count > 0 {
			texts[file], taken = text, taken+count
		}
	}
	return texts, taken
}

// writeNotebook puts fixes into a notebook's JSON. A fix that the notebook cannot take (it touches a magic or two cells) is
// left out.
func writeNotebook(notebook *pyscan.Notebook, fixes []rules.Fix) (text string, taken int) {
	var accepted []pyscan.Replacement
	for _, fix := range fixes {
		trial := slices.Clone(accepted)
		for _, edit := range fix.Edits {
			if r := (pyscan.Replacement{Span: edit.Span, Text: edit.New}); !slices.Contains(trial, r) {
				trial = append(trial, r)
			}
		}
		slices.SortStableFunc(trial, func(a, b pyscan.Replacement) int {
			return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End))
		})
		if written, err := notebook.Replace(trial); err == nil {
			accepted, text, taken = trial, string(written), taken+1
		}
	}
	return text, taken
}
