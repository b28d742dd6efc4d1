package parquet

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stepline/traceindex/rankset"
)

var update = flag.Bool("update", false, "write docs/rank-tables.md")

// TestTablesAreDocumented holds docs/rank-tables.md against the tables; -update writes it.
func TestTablesAreDocumented(t *testing.T) {
	var out strings.Builder
	fmt.Fprintf(&out, `<!-- Generated from traceindex/rankset/rows.go by traceindex/rankset/parquet/reference_test.go; do not edit. -->

# Tables of indexed ranks

What `+"`stepline index --parquet DIR`"+` writes ([guide](guides/many-ranks.md)): each table is `+"`DIR/TABLE/rank=N/part.parquet`"+`,
one file a rank, Snappy-compressed, no column ever null. The rank is in the folder's name; DuckDB (`+"`hive_partitioning`"+`), Spark and
Polars read it as a column. Names of columns end in their unit: `+"`_ns`"+` nanoseconds, `+"`_bytes`"+` bytes; counts have none. Times
`+"`start_ns`"+` count from the rank's `+"`base_unix_ns`"+` (table ranks), durations are plain.

Each file's metadata has `+"`%s`"+` (the version of these tables, now %d), `+"`%s`"+`, `+"`%s`"+`, `+"`%s`"+` (the same in all
files of one run of the command), `+"`%s`"+` and `+"`%s`"+`. Columns may be added within a version; a column that changes its
meaning or goes raises it, and stepline reads sets of its own version only.
`, keySchema, rankset.Schema, keyTable, keyRank, keyWriting, keyTime, keyVersion)
	for i := range Tables {
		table := &Tables[i]
		fmt.Fprintf(&out, "\n## %s\n\nA row is %s.\n\n| column | type | what |\n| --- | --- | --- |\n", table.Name, table.Doc)
		for _, c := range table.Columns {
			if c.Name == "" || c.Type == "" || c.Doc == "" {
				t.Errorf("table %s: a column without name, type or words: %+v", table.Name, c)
			}
			fmt.Fprintf(&out, "| `%s` | %s | %s |\n", c.Name, c.Type, c.Doc)
		}
	}
	name := filepath.Join("..", "..", "..", "docs", "rank-tables.md")
	if *update {
		if err := os.WriteFile(name, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(got), out.String()); diff != "" {
		t.Errorf("docs/rank-tables.md is stale (−file +tables); run go test ./traceindex/rankset/parquet -run Documented -update\n%s", diff)
	}
}
