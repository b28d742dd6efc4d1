package report

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// CacheRow is one kept index of a trace.
type CacheRow struct {
	Input string // the trace's path, "" if it cannot be told any more
	Bytes int64  // of the index
	Used  time.Time
}

// WriteCacheText prints the kept indexes and what they take.
func WriteCacheText(w io.Writer, folder string, rows []CacheRow, style Style) error {
	var out strings.Builder
	var total int64
	for _, row := range rows {
		total += row.Bytes
		input := row.Input
		if input == "" {
			input = "(damaged, will be made anew)"
		}
		fmt.Fprintf(&out, "%s  %s  %s\n", padLeft(Bytes(row.Bytes), 9), row.Used.Format("2006-01-02 15:04"), Printable(input))
	}
	if len(rows) == 0 {
		fmt.Fprintf(&out, "No index is kept in %s.\n", Printable(folder))
	} else {
		fmt.Fprintf(&out, "%s\n", style.Dim.Render(fmt.Sprintf("%s in %s; `stepline cache clear` removes them.", Bytes(total), Printable(folder))))
	}
	_, err := io.WriteString(w, out.String())
	return err
}
