package attribute

import (
	"strings"

	"stepline/traceindex"
)

// IsPageable reports whether a copy is from or to pageable host memory, by its name: "Memcpy HtoD (Pageable -> Device)".
func IsPageable(copyName string) bool { return strings.Contains(copyName, "Pageable") }

// addCopy adds a copy that a line launched.
func addCopy(row *traceindex.LineCost, ix *traceindex.Index, e traceindex.EventID, ns int64) {
	bytes := int64(0)
	if d, ok := ix.GPUDetailOf(e); ok && d.Bytes > 0 {
		bytes = d.Bytes
	}
	row.CopyNs += ns
	row.CopyBytes += bytes
	if IsPageable(ix.Name(e)) {
		row.PageableNs += ns
		row.PageableBytes += bytes
	}
}
