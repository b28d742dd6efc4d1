package report

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"stepline/traceindex/compare"
)

// WriteDiffText prints a comparison on a terminal, width columns wide.
func WriteDiffText(w io.Writer, d *Diff, width int, style Style) error {
	t := &diffText{Diff: d, width: max(width, 72), style: style}
	t.wrapped("", d.verdict())
	if d.BaseClass != d.NewClass {
		t.wrapped("", fmt.Sprintf("it was %s (%s), it is %s (%s)", ClassName(d.BaseClass), classWords[d.BaseClass].meaning, ClassName(d.NewClass), classWords[d.NewClass].meaning))
	} else {
		t.wrapped("", fmt.Sprintf("it is %s as before (%s)", ClassName(d.NewClass), classWords[d.NewClass].meaning))
	}
	if len(d.Predictions) > 0 {
		t.section("Mended, and what was promised")
		for _, p := range d.Predictions {
			t.wrapped("  • ", p.sentence())
		}
	}
	t.named("Where the step's time went", d.Causes)
	t.lines()
	t.named("Ops, GPU time", d.Ops)
	t.named("Kernels", d.Kernels)
	if gate := d.gate(); gate != "" {
		t.section(gate)
	}
	_, err := io.WriteString(w, t.out.String())
	return err
}

type diffText struct {
	*Diff
	width int
	style Style
	out   strings.Builder
}

func (t *diffText) wrapped(lead, text string) { writeWrapped(&t.out, t.width, lead, text) }

func (t *diffText) section(title string) {
	fmt.Fprintf(&t.out, "\n%s\n", t.style.Function.Render(title))
}

// notable leaves out what changed by less than a thousandth of the base step.
func (d *Diff) notable(delta float64) bool {
	return math.Abs(delta) >= d.Step.Base.Mean/1000 && delta != 0
}

const numberColumns = 54 // base, new, change, noise

func (t *diffText) row(name string, d compare.Difference) {
	room := t.width - numberColumns - 2
	name = ansi.Truncate(Printable(name), room, "…")
	verdict := noise(d)
	if math.IsInf(d.NoiseNs, 1) {
		verdict = "untested"
	}
	fmt.Fprintf(&t.out, "  %s%s%10s%10s%10s%11s  %s\n", name, strings.Repeat(" ", room-ansi.StringWidth(name)), Duration(d.Base.Mean), Duration(d.New.Mean), signed(d.DeltaNs), relative(d), verdict)
}

func (t *diffText) header(title string) {
	t.section(title)
	room := t.width - numberColumns - 2
	fmt.Fprintf(&t.out, "  %s%10s%10s%10s%11s\n", strings.Repeat(" ", room), "base", "new", "change", "")
}

func (t *diffText) named(title string, all []compare.NamedDifference) {
	shown := 0
	for _, d := range all {
		if !t.notable(d.DeltaNs) {
			continue
		}
		if shown == 0 {
			t.header(title)
		}
		if shown == shownDifferences {
			break
		}
		t.row(d.Name, d.Difference)
		shown++
	}
}

func (t *diffText) lines() {
	shown := 0
	for _, l := range t.Lines {
		if !t.notable(l.GPU.DeltaNs) && !t.notable(l.Idle.DeltaNs) {
			continue
		}
		if shown == 0 {
			t.header("Lines")
		}
		if shown == shownDifferences {
			break
		}
		name := t.lineName(l)
		if source := t.sourceOf(l); source != "" {
			name += "  " + source
		}
		if t.notable(l.GPU.DeltaNs) {
			t.row(name, l.GPU)
		}
		if t.notable(l.Idle.DeltaNs) {
			t.row("GPU idle at "+name, l.Idle)
		}
		shown++
	}
}
