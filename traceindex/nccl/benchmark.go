package nccl

import (
	"regexp"
	"strconv"
	"strings"
)

// Benchmark is one table of nccl-tests (all_reduce_perf and the like).
type Benchmark struct {
	File string
	// Name is the program, "all_reduce_perf", "" if the output does not tell.
	Name  string
	Ranks int // 0 if not told
	GPU   string
	Rows  []BenchmarkRow
	// AverageBusGBps is the program's own average, −1 if the output was cut before it.
	AverageBusGBps float64
	// Wrong is the sum of wrong values over all rows.
	Wrong int64
}

// BenchmarkRow is one message size. Bandwidths are GB/s (10⁹ bytes), times microseconds.
type BenchmarkRow struct {
	Bytes, Elements int64
	Type            string
	OutOfPlace      Measurement
	InPlace         Measurement // zero if the program has none
}

// Measurement is one half of a row.
type Measurement struct {
	TimeUs, AlgGBps, BusGBps float64
}

// PeakBusGBps is the best bus bandwidth of all rows, and the message size it was reached at.
func (b *Benchmark) PeakBusGBps() (gbps float64, bytes int64) {
	for _, row := range b.Rows {
		if best := max(row.OutOfPlace.BusGBps, row.InPlace.BusGBps); best > gbps {
			gbps, bytes = best, row.Bytes
		}
	}
	return gbps, bytes
}

// BusGBpsAt is the bus bandwidth measured at the largest size that is at most the given one, and that size; 0 if none is.
func (b *Benchmark) BusGBpsAt(bytes int64) (gbps float64, measuredBytes int64) {
	for _, row := range b.Rows {
		if row.Bytes <= bytes && row.Bytes >= measuredBytes {
			gbps, measuredBytes = max(row.OutOfPlace.BusGBps, row.InPlace.BusGBps), row.Bytes
		}
	}
	return gbps, measuredBytes
}

// BusFactor is what bus bandwidth is of algorithm bandwidth (bytes over time) for a collective of n ranks, after
// nccl-tests' doc/PERFORMANCE.md: 2(n−1)/n for all-reduce, (n−1)/n for all-gather, reduce-scatter and all-to-all (bytes of the
// whole buffer), 1 for broadcast and reduce and everything else. name is any spelling: "AllReduce", "all_reduce_perf",
// "ncclDevKernel_ReduceScatter_Sum_f32_RING_LL", "_allgather_base".
func BusFactor(name string, n int) float64 {
	plain := strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(name))
	switch share := float64(n-1) / float64(n); {
	case n < 1:
		return 1
	case strings.Contains(plain, "allreduce"):
		return 2 * share
	case strings.Contains(plain, "allgather"), strings.Contains(plain, "reducescatter"), strings.Contains(plain, "alltoall"):
		return share
	}
	return 1
}

var (
	launcherPrefix = regexp.MustCompile(`^(?:\[\d+,\d+\]<std(?:out|err)>:|\s*\d+: )`)
	testName       = regexp.MustCompile(`\b((?:all_reduce|all_gather|reduce_scatter|broadcast|reduce|alltoall|scatter|gather|sendrecv|hypercube)_perf)\b`)
	testRank       = regexp.MustCompile(`^#\s+Rank\s+(\d+) .*?\bdevice\s+\d+ \[[^\]]*\] (.+?)\s*$`)
	average        = regexp.MustCompile(`^#\s*Avg bus bandwidth\s*:\s*([0-9.]+)`)
)

// benchmarkReader collects a table line by line.
type benchmarkReader struct {
	columns []string // of the header
	ranks   int
	gpu     string
	name    string
	table   *Benchmark
}

// isTableHeader recognises "# size count type redop root time algbw busbw #wrong …".
func isTableHeader(line string) bool {
	line = strings.TrimSpace(launcherPrefix.ReplaceAllString(line, ""))
	if !strings.HasPrefix(line, "#") {
		return false
	}
	fields := strings.Fields(line[1:])
	return len(fields) >= 5 && fields[0] == "size" && strings.Contains(line, "algbw") && strings.Contains(line, "busbw")
}

func (b *benchmarkReader) line(line, file string, report *Report) {
	if match := testName.FindString(line); match != "" && b.table == nil {
		b.name = match
	}
	if !strings.ContainsAny(line, "#0123456789") {
		return
	}
	line = strings.TrimSpace(launcherPrefix.ReplaceAllString(line, ""))
	switch {
	case isTableHeader(line):
		b.end(report)
		b.columns = strings.Fields(line[1:])
		b.table = &Benchmark{File: file, Name: b.name, Ranks: b.ranks, GPU: b.gpu, AverageBusGBps: -1}
	case strings.HasPrefix(line, "#"):
		b.comment(line, report)
	case b.table != nil && line != "" && line[0] >= '0' && line[0] <= '9':
		b.row(strings.Fields(line))
	}
}

func (b *benchmarkReader) comment(line string, report *Report) {
	if match := testRank.FindStringSubmatch(line); match != nil {
		if rank := atoi(match[1]); rank == 0 {
			b.ranks = 0
		}
		b.ranks = max(b.ranks, atoi(match[1])+1)
		b.gpu = match[2]
	}
	if match := average.FindStringSubmatch(line); match != nil && b.table != nil {
		b.table.AverageBusGBps, _ = strconv.ParseFloat(match[1], 64)
		b.end(report)
	}
	if match := testName.FindString(line); match != "" && b.table == nil && len(report.Benchmarks) > 0 {
		if last := &report.Benchmarks[len(report.Benchmarks)-1]; last.Name == "" {
			last.Name = match // "# Collective test concluded: all_reduce_perf"
		}
	}
}

func (b *benchmarkReader) row(fields []string) {
	if len(fields) != len(b.columns) {
		return
	}
	size, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil {
		return
	}
	row := BenchmarkRow{Bytes: size}
	half := &row.OutOfPlace
	seen := false
	for i, column := range b.columns {
		switch column {
		case "count":
			row.Elements, _ = strconv.ParseInt(fields[i], 10, 64)
		case "type":
			row.Type = fields[i]
		case "time":
			if seen {
				half = &row.InPlace
			}
			seen = true
			half.TimeUs, err = strconv.ParseFloat(fields[i], 64)
			if err != nil {
				return // another line of numbers, or a row that was not measured
			}
		case "algbw":
			half.AlgGBps, _ = strconv.ParseFloat(fields[i], 64)
		case "busbw":
			half.BusGBps, _ = strconv.ParseFloat(fields[i], 64)
		case "#wrong", "error":
			if wrong, err := strconv.ParseInt(fields[i], 10, 64); err == nil && column == "#wrong" {
				b.table.Wrong += wrong
			}
		}
	}
	b.table.Rows = append(b.table.Rows, row)
}

// end closes the table being read.
func (b *benchmarkReader) end(report *Report) {
	if b.table != nil && len(b.table.Rows) > 0 {
		report.Benchmarks = append(report.Benchmarks, *b.table)
	}
	b.table, b.columns = nil, nil
}
