package report

import (
	"io"
	"strings"
)

// besidePerStep is what turns sums over the trace into means a step.
func (r *Run) besidePerStep() float64 {
	count, _ := StepCount(r.Costs.Summary)
	return 1 / float64(count)
}

// WriteBesideText prints what the inputs beside a trace say, each part with its origin.
func WriteBesideText(w io.Writer, b *Beside, view LinesView, perStep float64) error {
	limit := view.Top
	if limit == 0 {
		limit = 10
	}
	var out strings.Builder
	if b.Empty() {
		return nil
	}
	for _, s := range b.sections(limit, perStep) {
		writeSectionText(&out, s, max(view.Width, 60), view.Style)
	}
	text := out.String()
	if view.NoHeading {
		text = strings.TrimPrefix(text, "\n")
	}
	_, err := io.WriteString(w, text)
	return err
}

// beside is the Markdown of the parts.
func (m *markdown) beside() {
	for _, s := range m.Beside.sections(20, m.besidePerStep()) {
		m.line("## %s\n", s.Title)
		for _, fact := range s.Facts {
			m.line("- %s", text(fact))
		}
		for i := range s.Items {
			item := &s.Items[i]
			head := text(item.Head)
			if place := item.place(); place != "" {
				head = text(place) + " " + head
			}
			m.line("- **%s**", head)
			for _, sentence := range item.Texts {
				m.line("  - %s", text(sentence))
			}
		}
		m.line("")
		for _, t := range s.Tables {
			if len(t.Rows) == 0 {
				continue
			}
			m.line("%s:\n", t.Title)
			rule := make([]string, len(t.Head))
			for i := range t.Head {
				rule[i] = "---"
				if i >= t.Numbers {
					rule[i] = "---:"
				}
			}
			m.line("| %s |\n| %s |", strings.Join(t.Head, " | "), strings.Join(rule, " | "))
			for _, row := range t.Rows {
				cells := make([]string, len(row))
				for i, value := range row {
					cells[i] = cell(value)
				}
				m.line("| %s |", strings.Join(cells, " | "))
			}
			m.line("")
		}
	}
}

type (
	htmlSection struct {
		Title  string
		Facts  []string
		Items  []htmlItem
		Tables []htmlTable
	}
	htmlItem struct {
		Place *htmlPlace
		Head  string
		Texts []string
	}
	htmlTable struct {
		Title string
		Head  []htmlCell
		Rows  [][]htmlCell
	}
	htmlCell struct {
		Place  *htmlPlace // instead of the text, where there is one
		Text   string
		Number bool
	}
)

// addBeside puts the parts on the page.
func (p *htmlPage) addBeside(r *Run) {
	for _, s := range r.Beside.sections(40, r.besidePerStep()) {
		section := htmlSection{Title: s.Title, Facts: s.Facts}
		for i := range s.Items {
			item := &s.Items[i]
			section.Items = append(section.Items, htmlItem{newHTMLPlace(item.File, item.Line), item.Head, item.Texts})
		}
		for _, t := range s.Tables {
			table := htmlTable{Title: t.Title}
			cells := func(row []string) []htmlCell {
				var list []htmlCell
				for i, value := range row {
					list = append(list, htmlCell{nil, value, i >= t.Numbers})
				}
				return list
			}
			table.Head = cells(t.Head)
			for i, row := range t.Rows {
				row := cells(row)
				if i < len(t.Places) {
					row[0].Place = newHTMLPlace(t.Places[i].File, t.Places[i].Line)
				}
				table.Rows = append(table.Rows, row)
			}
			if len(table.Rows) > 0 {
				section.Tables = append(section.Tables, table)
			}
		}
		p.Beside = append(p.Beside, section)
	}
}
