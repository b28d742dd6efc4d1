package report

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

type (
	// MemoryPart is what memory snapshots say about lines, the allocator and steps. Bytes are those tensors asked for, but for
	// Fragmentation's.
	MemoryPart struct {
		Files   []string          `json:"files"`
		Devices []MemoryDeviceRow `json:"devices"`
		// Fragmentation has one row a snapshot.
		Fragmentation []FragmentationRow `json:"fragmentation"`
		Lines         []MemoryLineRow    `json:"lines"`
		Steps         []MemoryStepRow    `json:"steps"`
	}
	// MemoryDeviceRow is one device in one snapshot.
	MemoryDeviceRow struct {
		Source string `json:"source"`
		Device int    `json:"device"`
		// HeldBytes at the moment of the snapshot; BeforeBytes the part of it that was allocated before the recording began.
		HeldBytes   int64 `json:"held_bytes"`
		BeforeBytes int64 `json:"before_bytes"`
		PeakBytes   int64 `json:"peak_bytes"`
		AllocBytes  int64 `json:"alloc_bytes"`
		Allocs      int64 `json:"allocs"`
		Frees       int64 `json:"frees"`
		// SegmentAllocs and SegmentFrees are cudaMalloc and cudaFree.
		SegmentAllocs int64 `json:"segment_allocs"`
		SegmentFrees  int64 `json:"segment_frees"`
		OutOfMemory   int   `json:"out_of_memory"`
	}
	// FragmentationRow is the allocator's state at the moment of a snapshot. Bytes are as reserved, rounded.
	FragmentationRow struct {
		Source         string `json:"source"`
		ReservedBytes  int64  `json:"reserved_bytes"`
		AllocatedBytes int64  `json:"allocated_bytes"`
		PendingBytes   int64  `json:"pending_bytes"`
		// InactiveSplitBytes are free pieces of segments partly in use: empty_cache cannot give them back. CachedBytes are free
		// whole segments: it can.
		InactiveSplitBytes int64   `json:"inactive_split_bytes"`
		CachedBytes        int64   `json:"cached_bytes"`
		LargestFreeBytes   int64   `json:"largest_free_bytes"`
		SplitShare         float64 `json:"split_share"`
	}
	// MemoryLineRow is what one line's allocations hold, over all snapshots. File is "" for allocations without a Python frame.
	MemoryLineRow struct {
		File     string `json:"file"`
		Line     int    `json:"line"`
		Function string `json:"function"`
		// Workspace tells that the file is the workspace's; else it is named as the snapshot names it.
		Workspace bool `json:"workspace"`
		// Confidence is "exact" (the frame's own line) or "function" where the function has changed since: its def's line.
		Confidence string `json:"confidence"`
		HeldBytes  int64  `json:"held_bytes"`
		HeldCount  int64  `json:"held_count"`
		// PeakBytes is the line's part of the device's peak, OwnPeakBytes the most the line ever held.
		PeakBytes    int64 `json:"peak_bytes"`
		OwnPeakBytes int64 `json:"own_peak_bytes"`
		AllocBytes   int64 `json:"alloc_bytes"`
		Allocs       int64 `json:"allocs"`
		Frees        int64 `json:"frees"`
		// GrowthBytesPerStep is how much more the line holds at the end of each step, where it grows in every one of GrowthSteps.
		GrowthBytesPerStep int64 `json:"growth_bytes_per_step"`
		GrowthSteps        int   `json:"growth_steps"`
	}
	// MemoryStepRow is what one step did on one device.
	MemoryStepRow struct {
		Source         string `json:"source"`
		Device         int    `json:"device"`
		Index          int    `json:"index"`
		Allocs         int64  `json:"allocs"`
		AllocBytes     int64  `json:"alloc_bytes"`
		Frees          int64  `json:"frees"`
		PeakBytes      int64  `json:"peak_bytes"`
		HeldAtEndBytes int64  `json:"held_at_end_bytes"`
		SegmentAllocs  int64  `json:"segment_allocs"`
		SegmentFrees   int64  `json:"segment_frees"`
	}
)

// place is "train.py:21", or what the row collects where there is no place.
func (l *MemoryLineRow) place() string {
	if l.File == "" {
		return "no Python frame"
	}
	return sourcePlace(l.File, l.Line)
}

var memoryColumns = []string{"file", "line", "function", "held_bytes", "held_count", "peak_bytes", "own_peak_bytes", "alloc_bytes", "allocs", "frees", "growth_bytes_per_step", "workspace", "confidence"}

// WriteMemoryCSV prints one row a line under a header, columns named as in the JSON.
func WriteMemoryCSV(w io.Writer, m *MemoryPart, top int) error {
	writer := csv.NewWriter(w)
	if err := writer.Write(memoryColumns); err != nil {
		return err
	}
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	for _, row := range m.Top(top) {
		if err := writer.Write([]string{Printable(row.File), strconv.Itoa(row.Line), Printable(row.Function), number(row.HeldBytes), number(row.HeldCount),
			number(row.PeakBytes), number(row.OwnPeakBytes), number(row.AllocBytes), number(row.Allocs), number(row.Frees), number(row.GrowthBytesPerStep),
			strconv.FormatBool(row.Workspace), row.Confidence}); err != nil {
			return err
		}
	}
	writer.Flush()
	return writer.Error()
}

// Top are the rows that hold most at the peak; 0 means all.
func (m *MemoryPart) Top(n int) []MemoryLineRow {
	rows := slices.Clone(m.Lines)
	slices.SortStableFunc(rows, func(a, b MemoryLineRow) int {
		return cmp.Or(cmp.Compare(b.PeakBytes, a.PeakBytes), cmp.Compare(b.HeldBytes, a.HeldBytes), cmp.Compare(b.AllocBytes, a.AllocBytes))
	})
	if n > 0 && n < len(rows) {
		rows = rows[:n]
	}
	return rows
}

// WriteMemoryText prints the memory of each line with its source.
func WriteMemoryText(w io.Writer, m *MemoryPart, view LinesView) error {
	top := view.Top
	if top == 0 && !view.All {
		top = 40
	}
	var out strings.Builder
	section := m.section(top)
	width := max(view.Width, 60)
	if view.Source != nil {
		// The source takes the place of what the line held at most by itself: both do not fit.
		table := &section.Tables[0]
		table.Head = append(slices.Delete(slices.Clone(table.Head), 3, 4), "source")
		for i, row := range m.Top(top) {
			table.Rows[i] = append(slices.Delete(table.Rows[i], 3, 4), strings.TrimSpace(Printable(view.Source(row.File, row.Line))))
		}
	}
	writeSectionText(&out, section, width, view.Style)
	_, err := io.WriteString(w, strings.TrimPrefix(out.String(), "\n"))
	return err
}

func (m *MemoryPart) section(limit int) besideSection {
	s := besideSection{Title: "GPU memory (snapshot)", Facts: m.facts()}
	lines := besideTable{Title: "Lines by what they hold at the peak; held at the snapshot, allocated in all, growth a step", Head: []string{"line", "at peak", "held", "own peak", "allocated", "times", "growth"}, Numbers: 1}
	for _, row := range m.Top(limit) {
		grows := "·"
		if row.GrowthBytesPerStep > 0 {
			grows = Bytes(row.GrowthBytesPerStep)
		}
		lines.Places = append(lines.Places, PlaceRow{row.File, row.Line})
		lines.Rows = append(lines.Rows, []string{Printable(row.place()), Bytes(row.PeakBytes), Bytes(row.HeldBytes), Bytes(row.OwnPeakBytes), Bytes(row.AllocBytes), Count(row.Allocs), grows})
	}
	s.Tables = append(s.Tables, lines)
	if len(m.Steps) > 0 {
		steps := besideTable{Title: "Steps", Head: []string{"step", "peak", "held at the end", "allocated", "times", "cudaMalloc"}, Numbers: 1}
		for _, row := range m.Steps[:min(len(m.Steps), 12)] {
			name := fmt.Sprint(row.Index)
			if len(m.Devices) > 1 {
				name += fmt.Sprintf(" of device %d", row.Device)
			}
			steps.Rows = append(steps.Rows, []string{name, Bytes(row.PeakBytes), Bytes(row.HeldAtEndBytes), Bytes(row.AllocBytes), Count(row.Allocs), Count(row.SegmentAllocs)})
		}
		s.Tables = append(s.Tables, steps)
	}
	return s
}

// facts are the sentences above the tables.
func (m *MemoryPart) facts() []string {
	var facts []string
	for _, d := range m.Devices {
		if d.PeakBytes == 0 && d.HeldBytes == 0 && d.Allocs == 0 {
			continue
		}
		fact := fmt.Sprintf("%s, device %d: peak %s, %s held at the snapshot, %s allocated in %s, %s of cudaMalloc",
			Printable(d.Source), d.Device, Bytes(d.PeakBytes), Bytes(d.HeldBytes), Bytes(d.AllocBytes), allocations(d.Allocs), Plural(int(d.SegmentAllocs), "call"))
		if d.BeforeBytes > 0 {
			fact += fmt.Sprintf("; %s of what is held is older than the recording", Bytes(d.BeforeBytes))
		}
		if d.OutOfMemory > 0 {
			fact += "; " + Plural(d.OutOfMemory, "allocation") + " failed for lack of memory"
		}
		facts = append(facts, fact)
	}
	for _, f := range m.Fragmentation {
		if f.ReservedBytes == 0 {
			continue
		}
		facts = append(facts, fmt.Sprintf("%s: %s reserved, %s of it allocated, %s in free pieces of segments in use (%s, which empty_cache cannot give back), %s in free segments; the largest free piece is %s",
			Printable(f.Source), Bytes(f.ReservedBytes), Bytes(f.AllocatedBytes), Bytes(f.InactiveSplitBytes), Percent(f.SplitShare), Bytes(f.CachedBytes), Bytes(f.LargestFreeBytes)))
	}
	for _, row := range m.Lines {
		if row.GrowthBytesPerStep > 0 {
			facts = append(facts, fmt.Sprintf("%s holds %s more at the end of every step (over %s)", Printable(row.place()), Bytes(row.GrowthBytesPerStep), Plural(row.GrowthSteps, "step")))
		}
	}
	return facts[:min(len(facts), 12)]
}

func allocations(n int64) string {
	if n == 1 {
		return "1 allocation"
	}
	return Count(n) + " allocations"
}

// writeSectionText prints a part as text.
func writeSectionText(out *strings.Builder, s besideSection, width int, style Style) {
	out.WriteString("\n" + style.Function.Render(s.Title) + "\n")
	for _, fact := range s.Facts {
		writeWrapped(out, width, "  • ", fact)
	}
	for i := range s.Items {
		item := &s.Items[i]
		head := item.Head
		if place := item.place(); place != "" {
			head = Printable(place) + "  " + head
		}
		out.WriteString("  " + style.Strong.Render(ansi.Truncate(head, max(width-2, 20), "…")) + "\n")
		for _, text := range item.Texts {
			writeWrapped(out, width, "     ", text)
		}
	}
	for _, table := range s.Tables {
		table.writeText(out, width, style)
	}
}

func (t *besideTable) writeText(out *strings.Builder, width int, style Style) {
	if len(t.Rows) == 0 {
		return
	}
	if t.Title != "" {
		out.WriteString("  " + ansi.Truncate(t.Title, max(width-2, 20), "…") + "\n")
	}
	widths := make([]int, len(t.Head))
	for _, row := range append([][]string{t.Head}, t.Rows...) {
		for i, text := range row {
			widths[i] = max(widths[i], ansi.StringWidth(text))
		}
	}
	widths[0] = min(widths[0], 44)
	for r, row := range append([][]string{t.Head}, t.Rows...) {
		var line strings.Builder
		for i, text := range row {
			switch {
			case i == 0:
				if over := ansi.StringWidth(text) - widths[0]; over > 0 {
					text = ansi.TruncateLeft(text, over+1, "…")
				}
				line.WriteString("  " + padRight(text, widths[0]))
			case t.Head[i] == "source":
				line.WriteString("  " + text)
			default:
				line.WriteString("  " + padLeft(text, widths[i]))
			}
		}
		text := ansi.Truncate(strings.TrimRight(line.String(), " "), width, "…")
		if r == 0 {
			text = style.Dim.Render(text)
		}
		out.WriteString(text + "\n")
	}
}
