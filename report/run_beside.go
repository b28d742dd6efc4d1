package report

import (
	"fmt"
	"strings"
)

type (
	// Beside is what inputs other than traces say about a run: Nsight Compute reports, NCCL logs, memory snapshots. Each part is
	// nil where no such input was given, and names the files its numbers come from.
	Beside struct {
		Kernels *KernelsPart `json:"nsight_compute,omitempty"`
		NCCL    *NCCLPart    `json:"nccl,omitempty"`
		Memory  *MemoryPart  `json:"memory,omitempty"`
	}
	// KernelsPart says what limits kernels, by Nsight Compute.
	KernelsPart struct {
		Files []string `json:"files"`
		// Device is the GPU that was profiled, "" if the report does not tell.
		Device string `json:"device,omitempty"`
		// Launches is how many the report holds.
		Launches int `json:"launches"`
		// Kernels are the kernels of the trace that the report knows, by line, most GPU time first; without a trace the
		// report's own.
		Kernels []KernelRow `json:"kernels"`
	}
	// KernelRow is one kernel at one line, and what limits it. Line is 0 where the trace has no line for it.
	KernelRow struct {
		File     string `json:"file,omitempty"`
		Line     int    `json:"line,omitempty"`
		Function string `json:"function,omitempty"`
		Kernel   string `json:"kernel"`
		Backward bool   `json:"backward,omitempty"`
		// Launches and CudaUs are those of the trace, over the whole trace; 0 without one.
		Launches int64   `json:"launches"`
		CudaUs   float64 `json:"cuda_us"`
		// Limiter is compute, memory, balanced, latency, grid or unknown; Sentence says it with its numbers.
		Limiter  string `json:"limiter"`
		Sentence string `json:"sentence"`
		// Advice is Nsight Compute's own rule, "" if the report has none.
		Advice string `json:"advice,omitempty"`
		// JoinedBy tells how the launch was found in the report: "kernel" (name, template arguments, grid and block), "shape"
		// (name, grid and block), "name".
		JoinedBy string `json:"joined_by,omitempty"`
	}
	// NCCLPart is what NCCL's logs and nccl-tests say.
	NCCLPart struct {
		Files []string `json:"files"`
		// Summary is one line about the job, "" without processes in the logs.
		Summary string `json:"summary,omitempty"`
		// Places are the calls of init_process_group in the workspace.
		Places   []PlaceRow       `json:"places"`
		Findings []NCCLFindingRow `json:"findings"`
		// Bandwidth compares the trace's collectives with nccl-tests; empty without both.
		Bandwidth []BandwidthRow `json:"bandwidth"`
	}
	// PlaceRow is a line of the workspace.
	PlaceRow struct {
		File string `json:"file"`
		Line int    `json:"line"`
	}
	// NCCLFindingRow is something in the logs that costs time or will hang the job.
	NCCLFindingRow struct {
		Code    string `json:"code"`
		Message string `json:"message"`
		Severe  bool   `json:"severe"`
	}
	// BandwidthRow is one collective of one size: bus bandwidth in the trace beside the one nccl-tests measured.
	BandwidthRow struct {
		Collective string `json:"collective"`
		Bytes      int64  `json:"bytes"`
		Count      int    `json:"count"`
		// TraceGBps is the median over the collectives, each by its fastest rank (the others' kernels wait for it). 0 without a
		// trace.
		TraceGBps float64 `json:"trace_bus_gbps"`
		// MeasuredGBps was measured by nccl-tests at MeasuredBytes, the largest size that is not larger; 0 if none was.
		MeasuredGBps  float64 `json:"measured_bus_gbps"`
		MeasuredBytes int64   `json:"measured_bytes"`
	}
)

// Empty tells that no such input was given.
func (b *Beside) Empty() bool {
	return b == nil || b.Kernels == nil && b.NCCL == nil && b.Memory == nil
}

// Files are the inputs that the parts come from.
func (b *Beside) Files() []string {
	var files []string
	if b == nil {
		return nil
	}
	if b.Kernels != nil {
		files = append(files, b.Kernels.Files...)
	}
	if b.NCCL != nil {
		files = append(files, b.NCCL.Files...)
	}
	if b.Memory != nil {
		files = append(files, b.Memory.Files...)
	}
	return files
}

// Rename gives the files the names to be shown. Whoever made the parts calls it, before anyone else reads them.
func (b *Beside) Rename(shown func(string) string) {
	rename := func(files []string) []string {
		renamed := make([]string, len(files))
		for i, file := range files {
			renamed[i] = shown(file)
		}
		return renamed
	}
	if b == nil {
		return
	}
	if b.Kernels != nil {
		b.Kernels.Files = rename(b.Kernels.Files)
	}
	if b.NCCL != nil {
		b.NCCL.Files = rename(b.NCCL.Files)
	}
	if b.Memory != nil {
		b.Memory.Files = rename(b.Memory.Files)
	}
}

// besideSection is one part as the writers show it: facts, items with sentences, tables.
type besideSection struct {
	Title  string
	Facts  []string
	Items  []besideItem
	Tables []besideTable
}

// besideItem is a place with what is said about it.
type besideItem struct {
	File  string
	Line  int
	Head  string
	Texts []string
}

func (i *besideItem) place() string { return sourcePlace(i.File, i.Line) }

func sourcePlace(file string, line int) string {
	if file == "" || line <= 0 {
		return file
	}
	return fmt.Sprintf("%s:%d", file, line)
}

// besideTable is a small table; columns from Numbers on are numbers, the first one is a place or a name.
type besideTable struct {
	Title   string
	Head    []string
	Numbers int
	Rows    [][]string
	// Places are the rows' lines, where the first column names them.
	Places []PlaceRow
}

// sections turns the parts into what people read. limit bounds the items and rows of each, perStep turns sums over the trace into
// means a step.
func (b *Beside) sections(limit int, perStep float64) []besideSection {
	var list []besideSection
	if b == nil {
		return nil
	}
	if b.Kernels != nil {
		list = append(list, b.Kernels.section(limit, perStep))
	}
	if b.NCCL != nil {
		list = append(list, b.NCCL.section(limit))
	}
	if b.Memory != nil {
		list = append(list, b.Memory.section(limit))
	}
	return list
}

func origin(files []string) string {
	names := make([]string, len(files))
	for i, file := range files {
		names[i] = Printable(file)
	}
	return "from " + strings.Join(names, ", ")
}

func (k *KernelsPart) section(limit int, perStep float64) besideSection {
	s := besideSection{Title: "What limits the kernels (Nsight Compute)"}
	fact := Plural(k.Launches, "launch")
	if k.Launches != 1 {
		fact = Count(int64(k.Launches)) + " launches"
	}
	fact += " " + origin(k.Files)
	if k.Device != "" {
		fact += ", on " + Printable(k.Device)
	}
	s.Facts = append(s.Facts, fact)
	if len(k.Kernels) == 0 {
		s.Facts = append(s.Facts, "No kernel of the trace is among them.")
	}
	for i := range k.Kernels[:min(limit, len(k.Kernels))] {
		row := &k.Kernels[i]
		head := Printable(row.Kernel)
		if len([]rune(head)) > 70 {
			head = string([]rune(head)[:69]) + "…"
		}
		if row.CudaUs > 0 {
			head += ", " + Duration(row.CudaUs*1e3*perStep)
		}
		if row.Backward {
			head += ", backward"
		}
		item := besideItem{File: row.File, Line: row.Line, Head: head, Texts: []string{row.Sentence}}
		if row.Advice != "" {
			item.Texts = append(item.Texts, "Nsight Compute: "+row.Advice)
		}
		if row.JoinedBy == "name" {
			item.Texts = append(item.Texts, "Joined by the kernel's name alone: grid and block are not in both files.")
		}
		s.Items = append(s.Items, item)
	}
	if rest := len(k.Kernels) - len(s.Items); rest > 0 {
		s.Facts = append(s.Facts, Plural(rest, "more kernel")+" in --format json")
	}
	return s
}

func (n *NCCLPart) section(limit int) besideSection {
	s := besideSection{Title: "NCCL", Facts: []string{origin(n.Files)}}
	if n.Summary != "" {
		s.Facts = []string{n.Summary + "; " + origin(n.Files)}
	}
	var at PlaceRow
	if len(n.Places) > 0 {
		at = n.Places[0]
	}
	for i := range n.Findings[:min(limit, len(n.Findings))] {
		f := &n.Findings[i]
		s.Items = append(s.Items, besideItem{File: at.File, Line: at.Line, Head: f.Code, Texts: []string{f.Message}})
	}
	if len(n.Findings) == 0 && n.Summary != "" {
		s.Facts = append(s.Facts, "Nothing in the logs costs time or will hang the job.")
	}
	if len(n.Bandwidth) > 0 {
		t := besideTable{Title: "Bus bandwidth: the trace's collectives (by their fastest rank, median) beside nccl-tests", Head: []string{"collective", "size", "count", "in the trace", "nccl-tests", "at size"}, Numbers: 1}
		for _, row := range n.Bandwidth[:min(limit, len(n.Bandwidth))] {
			t.Rows = append(t.Rows, []string{Printable(row.Collective), Bytes(row.Bytes), countCell(row.Count), gbps(row.TraceGBps), gbps(row.MeasuredGBps), sizeCell(row.MeasuredBytes)})
		}
		s.Tables = append(s.Tables, t)
	}
	return s
}

func gbps(v float64) string {
	if v == 0 {
		return "·"
	}
	return fmt.Sprintf("%.1f GB/s", v)
}

func countCell(n int) string {
	if n == 0 {
		return "·"
	}
	return Count(int64(n))
}

func sizeCell(n int64) string {
	if n == 0 {
		return "·"
	}
	return Bytes(n)
}
