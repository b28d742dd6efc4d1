package lsp

import (
	"fmt"
	"strings"

	"stepline/analysis"
	"stepline/report"
)

// besideCard is what the inputs beside the traces say about one line, as it was at load.
type besideCard struct {
	rows  [][3]string
	notes []string
}

// maxLimits is how many of a line's kernels a hover says the limit of.
const maxLimits = 3

// besideOf is the card of a line that is being made.
func (c *fileCosts) besideOf(line int) *besideCard {
	if c.beside == nil {
		c.beside = map[int]*besideCard{}
	}
	if c.beside[line] == nil {
		c.beside[line] = &besideCard{}
	}
	return c.beside[line]
}

// addBeside spreads what the inputs beside the traces say over the files' lines.
func (t *loadedTrace) addBeside(beside *report.Beside, of func(path string) *fileCosts) {
	if beside == nil {
		return
	}
	if beside.Kernels != nil {
		t.addLimits(beside.Kernels, of)
	}
	if beside.Memory != nil {
		for i := range beside.Memory.Lines {
			if row := &beside.Memory.Lines[i]; row.Workspace && row.Line > 0 {
				of(row.File).besideOf(row.Line).addMemory(row)
			}
		}
	}
	if beside.NCCL == nil {
		return
	}
	for _, place := range beside.NCCL.Places {
		c := of(place.File).besideOf(place.Line)
		if beside.NCCL.Summary != "" {
			c.notes = append(c.notes, "NCCL's log: "+report.Printable(beside.NCCL.Summary)+".")
		}
		for _, f := range beside.NCCL.Findings {
			c.notes = append(c.notes, "NCCL, "+f.Code+": "+sentence(f.Message))
		}
		for _, b := range beside.NCCL.Bandwidth[:min(maxLimits, len(beside.NCCL.Bandwidth))] {
			c.notes = append(c.notes, bandwidthNote(&b))
		}
	}
}

// addLimits says of each line's most expensive kernels what limits them, equal sentences once.
func (t *loadedTrace) addLimits(kernels *report.KernelsPart, of func(path string) *fileCosts) {
	said := map[string]bool{}
	count := map[*besideCard]int{}
	for i := range kernels.Kernels { // most GPU time first
		row := &kernels.Kernels[i]
		if row.File == "" || row.Line <= 0 {
			continue
		}
		c := of(row.File).besideOf(row.Line)
		key := fmt.Sprintf("%s:%d %s %s", row.File, row.Line, row.Sentence, row.Advice)
		if count[c] == maxLimits || said[key] {
			continue
		}
		said[key] = true
		count[c]++
		note := "`" + strings.ReplaceAll(shorten(report.Printable(row.Kernel), 60), "`", "'") + "`"
		if row.Backward {
			note += " (backward)"
		}
		note += ", by Nsight Compute: " + sentence(row.Sentence)
		if row.Advice != "" {
			note += " Its advice: " + sentence(row.Advice)
		}
		if row.JoinedBy == "name" {
			note += " Joined by the kernel's name alone."
		}
		c.notes = append(c.notes, note)
	}
}

func (c *besideCard) addMemory(row *report.MemoryLineRow) {
	add := func(what string, bytes int64, remark string) {
		if bytes > 0 {
			c.rows = append(c.rows, [3]string{what, report.Bytes(bytes), remark})
		}
	}
	remark := ""
	if row.Confidence != "exact" {
		remark = "of the function: it has changed since the snapshot"
	}
	add("Memory at the device's peak", row.PeakBytes, remark)
	add("Memory held at the snapshot", row.HeldBytes, fmt.Sprintf("in %s", allocationCount(row.HeldCount)))
	add("Memory allocated in all", row.AllocBytes, fmt.Sprintf("in %s, most at once %s", allocationCount(row.Allocs), report.Bytes(row.OwnPeakBytes)))
	add("Memory that stays, a step", row.GrowthBytesPerStep, fmt.Sprintf("more at the end of each of %d steps", row.GrowthSteps))
}

func allocationCount(n int64) string {
	if n == 1 {
		return "1 allocation"
	}
	return report.Count(n) + " allocations"
}

func bandwidthNote(b *report.BandwidthRow) string {
	name := report.Printable(b.Collective) + " of " + report.Bytes(b.Bytes)
	switch {
	case b.TraceGBps == 0:
		return fmt.Sprintf("nccl-tests measured %.1f GB/s of bus bandwidth for %s.", b.MeasuredGBps, name)
	case b.MeasuredGBps == 0:
		return fmt.Sprintf("%s runs at %.1f GB/s of bus bandwidth in the trace; nccl-tests has no such size.", capital(name), b.TraceGBps)
	}
	return fmt.Sprintf("%s runs at %.1f GB/s of bus bandwidth in the trace; nccl-tests measured %.1f GB/s at %s.", capital(name), b.TraceGBps, b.MeasuredGBps, report.Bytes(b.MeasuredBytes))
}

// sentence ends a text with a full stop and begins it as it is.
func sentence(text string) string {
	text = strings.TrimSpace(report.Printable(text))
	if text == "" || strings.HasSuffix(text, ".") || strings.HasSuffix(text, ")") && strings.Contains(text, ". ") {
		return text
	}
	return text + "."
}

// addBeside puts what is known of the lines at load on the lines as they are now; nothing where a function has changed since.
func (v *lineView) addBeside(c *fileCosts, m *analysis.LineMap) {
	for old, card := range c.beside {
		line, fresh := m.Line(old)
		if line <= 0 || !fresh {
			continue
		}
		if v.beside == nil {
			v.beside = map[int]*besideCard{}
		}
		v.beside[line] = card
	}
}

// addBeside adds what the inputs beside the traces say about a line.
func (c *card) addBeside(v *lineView, line int) {
	if extra := v.beside[line]; extra != nil {
		c.rows = append(c.rows, extra.rows...)
		c.notes = append(c.notes, extra.notes...)
	}
}
