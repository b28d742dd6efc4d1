package analysis

import (
	"context"
	"maps"

	"stepline/pyscan"
	"stepline/rules"
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
		applied := rules.ApplyFixes(fixes)
		progress := false
		for _, taken := range applied.Taken {
			if taken {
				fixed.Applied++
				progress = true
			}
		}
		if !progress {
			break
		}
		texts := map[string]string{}
		for file, text := range applied.Texts {
			if _, known := fixed.Before[file.Path]; !known {
				fixed.Before[file.Path] = file.Text
			}
			texts[file.Path] = text
		}
		maps.Copy(fixed.After, texts)
		sources := make([]Source, 0, len(fixed.Files))
		for _, file := range fixed.Files {
			text := file.Text
			if changed, ok := texts[file.Path]; ok {
				text = changed
			}
			sources = append(sources, Source{file.Path, text})
		}
		again, err := w.CheckSources(ctx, sources, costs)
		if err != nil {
			return nil, err
		}
		fixed.Checked = again
	}
	return fixed, nil
}
