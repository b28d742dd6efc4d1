package report

import (
	"encoding/csv"
	"io"
	"strconv"

	"stepline/traceindex"
)

var lineColumns = []string{
	"file", "line", "function", "calls", "cuda_self_us", "cuda_backward_us", "kernels", "cpu_us", "gpu_idle_us",
	"sync_us", "bubble_us", "copy_us", "copy_bytes", "confidence",
	"exact_us", "likely_us", "ambiguous_us", "function_us",
}

// WriteLinesCSV prints one row a line under a header, columns named as in the JSON (RFC 4180, line feeds).
// Control characters in names come out as visible escapes: people read CSV in terminals too.
func WriteLinesCSV(w io.Writer, lines []traceindex.LineCost) error {
	writer := csv.NewWriter(w)
	if err := writer.Write(lineColumns); err != nil {
		return err
	}
	number := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	for i := range lines {
		row := NewLineRow(&lines[i])
		err := writer.Write([]string{
			Printable(row.File), strconv.Itoa(row.Line), Printable(row.Function), strconv.FormatInt(row.Calls, 10),
			number(row.CudaSelfUs), number(row.CudaBackwardUs), strconv.FormatInt(row.Kernels, 10),
			number(row.CPUUs), number(row.GPUIdleUs), number(row.SyncUs), number(row.BubbleUs),
			number(row.CopyUs), strconv.FormatInt(row.CopyBytes, 10), row.Confidence,
			number(row.ConfidenceUs.Exact), number(row.ConfidenceUs.Likely),
			number(row.ConfidenceUs.Ambiguous), number(row.ConfidenceUs.Function),
		})
		if err != nil {
			return err
		}
	}
	writer.Flush()
	return writer.Error()
}
