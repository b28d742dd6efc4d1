package nsys

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// BenchmarkRead reads a generated export of two processes: per launch a kernel, a runtime call and an operator's NVTX range.
// STEPLINE_BENCH_LAUNCHES sets how many launches (1,000,000 make 290 MB).
func BenchmarkRead(b *testing.B) {
	launches := 50_000
	if text := os.Getenv("STEPLINE_BENCH_LAUNCHES"); text != "" {
		var err error
		if launches, err = strconv.Atoi(text); err != nil {
			b.Fatal(err)
		}
	}
	path := bigExport(b, launches)
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(info.Size())
	for b.Loop() {
		ranks, err := Read(context.Background(), path)
		if err != nil {
			b.Fatal(err)
		}
		if len(ranks) != 2 || len(ranks[0].GPUEvents)+len(ranks[1].GPUEvents) != launches {
			b.Fatalf("%d ranks", len(ranks))
		}
	}
}

// bigExport writes an export of so many launches, and returns its path.
func bigExport(b *testing.B, launches int) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "big.sqlite")
	db, err := sql.Open(driverName, path)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	for _, statement := range []string{
		createStrings, createKernel, createRuntime, createNVTX, `PRAGMA journal_mode = off`, `PRAGMA synchronous = off`,
		`INSERT INTO StringIds VALUES (1, 'void gemm_kernel<float, 128>(float const*, float*)'), (2, 'cudaLaunchKernel_v7000')`,
	} {
		if _, err := db.Exec(statement); err != nil {
			b.Fatalf("%s: %v", statement, err)
		}
	}
	tx, err := db.Begin()
	if err != nil {
		b.Fatal(err)
	}
	defer tx.Rollback()
	insert := func(text string) func(...any) {
		statement, err := tx.Prepare(text)
		if err != nil {
			b.Fatal(err)
		}
		return func(values ...any) {
			if _, err := statement.Exec(values...); err != nil {
				b.Fatal(err)
			}
		}
	}
	kernel := insert(`INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 1, 7, ?, ?, 1, 1, 128, 1, 1, 256, 1, 1, 64, 1024, 0, NULL)`)
	call := insert(`INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 0, ?, ?, 2, 0, 0)`)
	nvtx := insert(`INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, 1, ?, ?, NULL, NULL, 0)`)
	for i := range launches {
		process, at := process1, int64(i)*10_000
		if i%2 == 1 {
			process = process2
		}
		kernel(at+5_000, at+12_000, i, process)
		call(at+1_000, at+4_000, process+11, i)
		nvtx(at, at+5_000, fmt.Sprintf("aten::mm, seq = %d, op_id = %d, sizes = [[128, 256], [256, 512]]", i, i), process+11)
	}
	if err := tx.Commit(); err != nil {
		b.Fatal(err)
	}
	return path
}
