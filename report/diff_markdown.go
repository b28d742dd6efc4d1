package report

import (
	"fmt"
	"io"
	"strings"

	"stepline/traceindex/compare"
)

// WriteDiffMarkdown writes a comparison for a pull request.
func WriteDiffMarkdown(w io.Writer, d *Diff) error {
	var out strings.Builder
	fmt.Fprintf(&out, "### Step time\n\n%s\n\n", markdownText(d.verdict()))
	fmt.Fprintf(&out, "Bottleneck: %s → %s\n", ClassName(d.BaseClass), ClassName(d.NewClass))
	if len(d.Predictions) > 0 {
		out.WriteString("\n### Mended, and what was promised\n\n")
		for _, p := range d.Predictions {
			fmt.Fprintf(&out, "- %s\n", markdownText(p.sentence()))
		}
	}
	table := func(title string, rows [][2]any) {
		if len(rows) == 0 {
			return
		}
		fmt.Fprintf(&out, "\n### %s\n\n| | base | new | change | | |\n| --- | ---: | ---: | ---: | ---: | --- |\n", title)
		for _, r := range rows {
			c := r[1].(compare.Difference)
			fmt.Fprintf(&out, "| %s | %s | %s | %s | %s | %s |\n", markdownText(r[0].(string)), spread(c.Base), spread(c.New), signed(c.DeltaNs), relative(c), noise(c))
		}
	}
	named := func(all []compare.NamedDifference) (rows [][2]any) {
		for _, n := range all {
			if d.notable(n.DeltaNs) && len(rows) < shownDifferences {
				rows = append(rows, [2]any{n.Name, n.Difference})
			}
		}
		return rows
	}
	table("Where the step's time went", named(d.Causes))
	var lines [][2]any
	for _, l := range d.Lines {
		if len(lines) >= shownDifferences {
			break
		}
		if d.notable(l.GPU.DeltaNs) {
			lines = append(lines, [2]any{d.lineName(l) + ", GPU time", l.GPU})
		}
		if d.notable(l.Idle.DeltaNs) {
			lines = append(lines, [2]any{d.lineName(l) + ", GPU idle", l.Idle})
		}
	}
	table("Lines", lines)
	table("Ops, GPU time", named(d.Ops))
	table("Kernels", named(d.Kernels))
	if gate := d.gate(); gate != "" {
		fmt.Fprintf(&out, "\n**%s**\n", gate)
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// markdownText keeps text from being read as Markdown's table or markup.
func markdownText(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "*", `\*`, "_", `\_`).Replace(Printable(text))
}
