package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/hexops/gotextdiff"
	"github.com/hexops/gotextdiff/myers"
	"github.com/hexops/gotextdiff/span"
)

// WritePatch prints the change of one file as a unified diff that `git apply` and `patch -p1` take.
func WritePatch(w io.Writer, path, before, after string) error {
	if before == after {
		return nil
	}
	edits := myers.ComputeEdits(span.URIFromPath(path), before, after)
	patch := fmt.Sprint(gotextdiff.ToUnified("a/"+path, "b/"+path, before, edits))
	if after == "" { // gotextdiff counts one line in an empty file; patch tools want +0,0
		patch = strings.Replace(patch, " +1 @@", " +0,0 @@", 1)
	}
	_, err := io.WriteString(w, patch)
	return err
}
