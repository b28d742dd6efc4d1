package parquet

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"stepline/traceindex/rankset"
)

// sampleRank is a small rank: two steps, a line, a kernel, a collective in which higher ranks come later.
func sampleRank(number int) *rankset.Rank {
	n := int64(number)
	r := &rankset.Rank{Number: number, Info: rankset.Info{RunID: "r1", Host: "h", WorldSize: 3, BaseUnixNs: 1_000_000, StepCount: 2, SpanEndNs: 2000, GPUTotalNs: 900, GPUBusyNs: 900}}
	for step := range int64(2) {
		r.Steps = append(r.Steps, rankset.Step{Number: step, Source: "ProfilerStep", StartNs: 1000 * step, DurationNs: 1000, BusyNs: 600, ComputeNs: 500, ExposedCommunicationNs: 100, IdleLaunchNs: 400, GapCount: 1})
		r.Gaps = append(r.Gaps, rankset.Gap{Step: step, StartNs: 1000 * step, DurationNs: 400, Cause: "launch", Known: true, File: "a.py", LineNumber: 3, Function: "f"})
		r.Idle = append(r.Idle, rankset.Idle{Step: step, Cause: "launch", Known: true, File: "a.py", LineNumber: 3, Function: "f", DurationNs: 400, GapCount: 1})
		r.GPU = append(r.GPU, rankset.GPU{Step: step, InSpan: true, Kernel: "gemm", Kind: "kernel", File: "a.py", LineNumber: 3, Function: "f", Events: 1, DurationNs: 500, LongestNs: 500})
		r.Collectives = append(r.Collectives, rankset.Collective{Name: "allreduce", Group: "0", Ranks: "[0, 1, 2]", Sequence: step, StartUnixNs: 1_000_000 + 1000*step + 400 + 50*n, DurationNs: 200 - 50*n, InSpan: true})
	}
	r.Lines = []rankset.Line{{File: "a.py", Number: 3, Function: "f", Source: "y = f(x)", ForwardNs: 1000, Kernels: 2, ExactNs: 1000, Confidence: "exact"}}
	r.Timeline = []rankset.Span{{StartNs: 0, DurationNs: 2000, File: "a.py", LineNumber: 3, Function: "f"}}
	return r
}

func writeSample(t *testing.T, dir string, ranks ...int) {
	t.Helper()
	for _, n := range ranks {
		if err := Write(context.Background(), dir, sampleRank(n), "test"); err != nil {
			t.Fatal(err)
		}
	}
}

func openAndMerge(t *testing.T, dirs ...string) (*Set, *rankset.Run, error) {
	t.Helper()
	set, err := Open(context.Background(), dirs)
	if err != nil {
		return nil, nil, err
	}
	run, err := set.Merge(context.Background(), Want{Diagnosis: true, Gaps: true}, nil)
	return set, run, err
}

// TestRowsComeBack: whatever a rank's tables hold is what is read again.
func TestRowsComeBack(t *testing.T) {
	dir := t.TempDir()
	word := rapid.SampledFrom([]string{"", "a.py", "fonction «é»", "void k<int, 4>(float*)", strings.Repeat("x", 5000)})
	fill := func(t *rapid.T, row reflect.Value) {
		for i := range row.NumField() {
			switch f := row.Field(i); f.Kind() {
			case reflect.Int64:
				f.SetInt(rapid.Int64().Draw(t, "int"))
			case reflect.Float64:
				f.SetFloat(rapid.Float64Range(0, 1).Draw(t, "float"))
			case reflect.Bool:
				f.SetBool(rapid.Bool().Draw(t, "bool"))
			default:
				f.SetString(word.Draw(t, "word"))
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		rank := &rankset.Rank{Number: rapid.IntRange(0, 5000).Draw(t, "rank")}
		fill(t, reflect.ValueOf(&rank.Info).Elem())
		for i := range Tables {
			if Tables[i].of == nil {
				continue
			}
			rows := reflect.ValueOf(Tables[i].of(rank)).Elem()
			n := rapid.IntRange(1, 4).Draw(t, "rows")
			rows.Set(reflect.MakeSlice(rows.Type(), n, n))
			for j := range n {
				fill(t, rows.Index(j))
			}
		}
		got, path := &rankset.Rank{Number: rank.Number}, filepath.Join(dir, partName)
		for i := range Tables {
			data, err := encode(&Tables[i], rank, map[string]string{keySchema: "1", keyTable: Tables[i].Name, keyRank: fmt.Sprint(rank.Number)})
			if err == nil {
				err = os.WriteFile(path, data, 0o644)
			}
			if err == nil {
				_, err = newDecoder().read(path, &Tables[i], got)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(rank, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

// TestManyRowsComeBack goes over several pages and batches.
func TestManyRowsComeBack(t *testing.T) {
	dir := t.TempDir()
	rank := &rankset.Rank{Number: 0}
	for i := range int64(200_000) {
		rank.Gaps = append(rank.Gaps, rankset.Gap{Step: i % 7, StartNs: i * 1000, DurationNs: i % 911, Cause: "launch", Known: i%2 == 0, File: fmt.Sprintf("f%d.py", i%300), Doing: strings.Repeat("op", int(i%40))})
	}
	if err := Write(context.Background(), dir, rank, "test"); err != nil {
		t.Fatal(err)
	}
	got := &rankset.Rank{Number: 0}
	m := member{dir: dir, head: got}
	if _, err := m.readTables(newDecoder(), got, []string{"gaps"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(rank.Gaps, got.Gaps); diff != "" {
		t.Fatal(diff)
	}
}

// TestRanksMeet: three ranks give one run, with the late one named.
func TestRanksMeet(t *testing.T) {
	dir := t.TempDir()
	writeSample(t, dir, 2, 0, 1)
	set, run, err := openAndMerge(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(set.Warnings) != 0 {
		t.Errorf("warnings about a sound set: %v", set.Warnings)
	}
	if s := run.Costs.Summary; s.Ranks != 3 || s.Steps != 2 || s.GPUTotalNs != 2700 || run.Costs.Lines[0].SelfNs != 3000 {
		t.Errorf("summary %+v, lines %+v", s, run.Costs.Lines)
	}
	late := run.Diagnosis.Stragglers
	if len(late) != 1 || late[0].Name != "rank 2" || late[0].WaitNs != 200 || late[0].WaitingName != "rank 0" || late[0].Place.Line != 3 {
		t.Errorf("stragglers: %+v", late)
	}
}

// TestWritingAgainReplaces: a rank indexed twice counts once, as the later index has it.
func TestWritingAgainReplaces(t *testing.T) {
	dir := t.TempDir()
	writeSample(t, dir, 0, 1, 2)
	again := sampleRank(1)
	again.Lines[0].ForwardNs = 5000
	if err := Write(context.Background(), dir, again, "test"); err != nil {
		t.Fatal(err)
	}
	_, run, err := openAndMerge(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := run.Costs.Lines[0].SelfNs; got != 7000 {
		t.Errorf("the line has %d ns, want 7000", got)
	}
	left, _ := filepath.Glob(filepath.Join(dir, "*", "rank=1", ".part-*"))
	if len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestWritersNeedNoCoordination: all ranks at once, one of them by two writers, give a set without a torn rank.
func TestWritersNeedNoCoordination(t *testing.T) {
	dir := t.TempDir()
	var wait sync.WaitGroup
	failures := make(chan error, 32)
	for n := range 16 {
		wait.Go(func() { failures <- Write(context.Background(), dir, sampleRank(n), "test") })
	}
	wait.Wait()
	close(failures)
	for err := range failures {
		if err != nil {
			t.Error(err)
		}
	}
	set, run, err := openAndMerge(t, dir)
	if err != nil || len(run.Numbers) != 16 || set.LeftOut != 0 {
		t.Errorf("%d ranks, %d left out, error %v", len(run.Numbers), set.LeftOut, err)
	}
}

// TestDamage: what is wrong with a file is named and costs its rank; the others are used.
func TestDamage(t *testing.T) {
	part := func(dir, table string, rank int) string { return filepath.Join(rankFolder(dir, table, rank), partName) }
	edit := func(t *testing.T, path string, change func([]byte) []byte) {
		t.Helper()
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, change(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	rewrite := func(t *testing.T, dir, table string, rank int, meta map[string]string) {
		t.Helper()
		data, err := encode(tableNamed(table), sampleRank(rank), meta)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(part(dir, table, rank), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		name   string
		damage func(t *testing.T, dir string)
		ranks  int
		says   []string
	}{
		{"cut short", func(t *testing.T, dir string) {
			edit(t, part(dir, "lines", 1), func(b []byte) []byte { return b[:len(b)/2] })
		}, 2, []string{"rank 1 is left out", "lines", "damaged"}},
		{"empty", func(t *testing.T, dir string) {
			edit(t, part(dir, "steps", 1), func([]byte) []byte { return nil })
		}, 2, []string{"rank 1 is left out", "empty"}},
		{"missing", func(t *testing.T, dir string) { os.Remove(part(dir, "gpu", 1)) }, 2, []string{"rank 1 is left out", "missing"}},
		{"not Parquet", func(t *testing.T, dir string) {
			edit(t, part(dir, "ranks", 1), func([]byte) []byte { return []byte("hello, world, this is text") })
		}, 2, []string{"rank 1 is left out", "damaged"}},
		{"pages overwritten", func(t *testing.T, dir string) {
			edit(t, part(dir, "gpu", 1), func(b []byte) []byte {
				for i := 4; i < 200; i++ {
					b[i] = 0xff
				}
				return b
			})
		}, 2, []string{"rank 1 is left out", "damaged"}},
		{"stopped while writing", func(t *testing.T, dir string) { os.RemoveAll(filepath.Join(dir, "ranks", "rank=1")) }, 2, []string{"rank 1 is left out", "not written to its end"}},
		{"two writings", func(t *testing.T, dir string) {
			rewrite(t, dir, "idle", 1, map[string]string{keySchema: "1", keyTable: "idle", keyRank: "1", keyWriting: "other"})
		}, 2, []string{"rank 1 is left out", "two writings"}},
		{"older version", func(t *testing.T, dir string) {
			rewrite(t, dir, "ranks", 1, map[string]string{keySchema: "0", keyTable: "ranks", keyRank: "1"})
		}, 2, []string{"rank 1 is left out", "older stepline", "index the rank again"}},
		{"newer version", func(t *testing.T, dir string) {
			rewrite(t, dir, "ranks", 1, map[string]string{keySchema: "99", keyTable: "ranks", keyRank: "1"})
		}, 2, []string{"rank 1 is left out", "newer stepline", "99"}},
		{"another rank's file", func(t *testing.T, dir string) {
			data, _ := os.ReadFile(part(dir, "ranks", 2))
			os.WriteFile(part(dir, "ranks", 1), data, 0o644)
		}, 2, []string{"rank 1 is left out", "holds rank 2"}},
		{"a copy beside", func(t *testing.T, dir string) {
			data, _ := os.ReadFile(part(dir, "ranks", 1))
			os.WriteFile(filepath.Join(rankFolder(dir, "ranks", 1), "copy.parquet"), data, 0o644)
		}, 3, []string{"copy.parquet", "was not read"}},
		{"foreign folder", func(t *testing.T, dir string) { os.Mkdir(filepath.Join(dir, "ranks", "rank=01"), 0o755) }, 3, []string{"rank=01", "no rank's folder"}},
		{"a file on its way", func(t *testing.T, dir string) {
			os.WriteFile(filepath.Join(rankFolder(dir, "ranks", 1), ".part-1.tmp"), []byte("half"), 0o644)
		}, 3, nil},
		{"a rank is not there", func(t *testing.T, dir string) {
			for i := range Tables {
				os.RemoveAll(rankFolder(dir, Tables[i].Name, 1))
			}
		}, 2, []string{"2 of 3 ranks are here; missing: 1"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			writeSample(t, dir, 0, 1, 2)
			test.damage(t, dir)
			set, run, err := openAndMerge(t, dir)
			if err != nil {
				t.Fatal(err)
			}
			if len(run.Numbers) != test.ranks || run.Costs.Summary.Ranks != test.ranks || run.Costs.Lines[0].SelfNs != 1000*int64(test.ranks) {
				t.Errorf("ranks %v, summary %+v", run.Numbers, run.Costs.Summary)
			}
			var said []string
			for _, w := range set.Warnings {
				said = append(said, w.Message)
			}
			all := strings.Join(said, "\n")
			for _, part := range test.says {
				if !strings.Contains(all, part) {
					t.Errorf("no warning says %q:\n%s", part, all)
				}
			}
			if len(test.says) == 0 && len(said) > 0 {
				t.Errorf("warnings: %s", all)
			}
		})
	}
}

// endsAfter is a context that ends after its Err has been asked some times.
type endsAfter struct {
	context.Context
	left int
}

func (c *endsAfter) Err() error {
	if c.left == 0 {
		return context.Canceled
	}
	c.left--
	return nil
}

// TestFailedWriteLeavesTheRank: a writer that is stopped between two tables leaves what the set had, and nothing of its own.
func TestFailedWriteLeavesTheRank(t *testing.T) {
	dir := t.TempDir()
	writeSample(t, dir, 0)
	before, err := Read(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	other := sampleRank(0)
	other.Lines[0].ForwardNs, other.Steps = 7, nil
	for tables := range Tables {
		if err := Write(&endsAfter{t.Context(), tables}, dir, other, "test"); err == nil {
			t.Fatalf("written to the end after %d tables", tables)
		}
		after, err := Read(dir, 0)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, after); diff != "" {
			t.Fatalf("stopped after %d tables: %s", tables, diff)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*", "*", partPattern)); len(left) > 0 {
		t.Errorf("files left: %v", left)
	}
}

// TestNothingUsable: a set of which no rank can be read is one error that says why.
func TestNothingUsable(t *testing.T) {
	dir := t.TempDir()
	writeSample(t, dir, 0)
	if err := os.Truncate(filepath.Join(rankFolder(dir, "ranks", 0), partName), 10); err != nil {
		t.Fatal(err)
	}
	if _, _, err := openAndMerge(t, dir); err == nil || !strings.Contains(err.Error(), "rank 0 is left out") {
		t.Errorf("error %v", err)
	}
}

// TestSameRankTwice: of a rank in two folders the later index is used.
func TestSameRankTwice(t *testing.T) {
	old, new := t.TempDir(), t.TempDir()
	writeSample(t, old, 0, 1)
	later := sampleRank(1)
	later.Lines[0].ForwardNs = 5000
	if err := Write(context.Background(), new, later, "test"); err != nil {
		t.Fatal(err)
	}
	set, run, err := openAndMerge(t, old, new)
	if err != nil {
		t.Fatal(err)
	}
	if len(run.Numbers) != 2 || run.Costs.Lines[0].SelfNs != 6000 {
		t.Errorf("ranks %v, line %d ns", run.Numbers, run.Costs.Lines[0].SelfNs)
	}
	if set.LeftOut != 1 || !strings.Contains(set.Warnings[0].Message, "rank 1 is in") {
		t.Errorf("left out %d, warnings %v", set.LeftOut, set.Warnings)
	}
}

// TestAnyDamageIsAnError: a file changed anywhere is read as it is or refused, and never stops the program.
func TestAnyDamageIsAnError(t *testing.T) {
	dir := t.TempDir()
	writeSample(t, dir, 0)
	path := filepath.Join(rankFolder(dir, "gpu", 0), partName)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		data := append([]byte{}, whole...)
		for range rapid.IntRange(1, 8).Draw(t, "changes") {
			data[rapid.IntRange(0, len(data)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "to")
		}
		data = data[:rapid.IntRange(0, len(data)).Draw(t, "length")]
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := newDecoder().read(path, tableNamed("gpu"), &rankset.Rank{}); err != nil && !strings.Contains(err.Error(), path) {
			t.Fatalf("the error names no file: %v", err)
		}
	})
}
