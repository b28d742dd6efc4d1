package load

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"stepline/traceindex"
)

// compareIndexes reports how two indexes differ, unexported columns included.
func compareIndexes(x, y *traceindex.Index) string {
	if d := cmp.Diff(x.GPU, y.GPU, cmpopts.EquateNaNs()); d != "" {
		return d
	}
	a, b := *x, *y
	a.GPU, b.GPU = nil, nil // NaN is not deeply equal to itself
	if reflect.DeepEqual(&a, &b) {
		return ""
	}
	return cmp.Diff(&a, &b, cmp.Exporter(func(reflect.Type) bool { return true }), cmpopts.EquateEmpty())
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// cachedTrace copies a real trace with call lines into a folder, with a cache folder of its own.
func cachedTrace(t *testing.T) string {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	dir := t.TempDir()
	const traces = "../../testdata/traces/gpt_callers/"
	copyFile(t, traces+"trace.json.gz", filepath.Join(dir, "trace.json.gz"))
	copyFile(t, traces+"trace.callers.json.gz", filepath.Join(dir, "trace.callers.json.gz"))
	return filepath.Join(dir, "trace.json.gz")
}

func openOne(t *testing.T, path string, opts Options) *traceindex.Index {
	t.Helper()
	run, err := Open(context.Background(), []string{path}, opts)
	if err != nil {
		t.Fatal(err)
	}
	return run.Ranks[0]
}

func oneEntry(t *testing.T) CacheEntry {
	t.Helper()
	entries, err := CacheEntries()
	if err != nil || len(entries) != 1 {
		t.Fatalf("cache entries %v, %v; want one", entries, err)
	}
	return entries[0]
}

func TestCacheHoldsTheSameIndex(t *testing.T) {
	path := cachedTrace(t)
	fresh := openOne(t, path, Options{NoCache: true})
	if entries, _ := CacheEntries(); len(entries) != 0 {
		t.Errorf("NoCache wrote %v", entries)
	}
	if d := compareIndexes(fresh, openOne(t, path, Options{})); d != "" {
		t.Errorf("first open: %s", d)
	}
	e := oneEntry(t)
	if e.Input != path || e.Bytes == 0 {
		t.Errorf("entry %+v", e)
	}
	cached := openOne(t, path, Options{})
	if d := compareIndexes(fresh, cached); d != "" {
		t.Errorf("second open: %s", d)
	}
	if !cached.HasCallLines() {
		t.Error("the call lines are lost")
	}
	n, bytes, err := ClearCache()
	if n != 1 || bytes != e.Bytes || err != nil {
		t.Errorf("ClearCache: %d, %d, %v", n, bytes, err)
	}
	if entries, _ := CacheEntries(); len(entries) != 0 {
		t.Errorf("left %v", entries)
	}
}

// Whatever happens to the cache's file, opening gives the right index and mends the file.
func TestCacheDamage(t *testing.T) {
	path := cachedTrace(t)
	fresh := openOne(t, path, Options{NoCache: true})
	openOne(t, path, Options{})
	file := oneEntry(t).File
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	damages := map[string][]byte{"empty": {}, "cut": good[:len(good)/2], "longer": append(append([]byte(nil), good...), 1, 2, 3), "no key line": good[8:]}
	for _, at := range []int{0, 40, 300, 4000, len(good) / 2, len(good) - 1} {
		b := append([]byte(nil), good...)
		b[at] ^= 0x20
		damages["bit at "+time.Duration(at).String()] = b
	}
	for name, data := range damages {
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if d := compareIndexes(fresh, openOne(t, path, Options{})); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		mended, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if key, err := readKey(file); err != nil || key.Path != path || len(mended) < len(good)/2 {
			t.Errorf("%s: not mended: %v", name, err)
		}
	}
}

func TestCacheNoticesChange(t *testing.T) {
	path := cachedTrace(t)
	openOne(t, path, Options{})
	copyFile(t, "../../testdata/traces/compile/trace.json.gz", path)
	os.Remove(filepath.Join(filepath.Dir(path), "trace.callers.json.gz"))
	want := openOne(t, path, Options{NoCache: true})
	if d := compareIndexes(want, openOne(t, path, Options{})); d != "" {
		t.Errorf("the old index came back: %s", d)
	}
	oneEntry(t)
}

func TestCacheNoticesCallLines(t *testing.T) {
	path := cachedTrace(t)
	side := filepath.Join(filepath.Dir(path), "trace.callers.json.gz")
	aside := side + ".aside"
	if err := os.Rename(side, aside); err != nil {
		t.Fatal(err)
	}
	if openOne(t, path, Options{}).HasCallLines() {
		t.Error("call lines from nowhere")
	}
	if err := os.Rename(aside, side); err != nil {
		t.Fatal(err)
	}
	if !openOne(t, path, Options{}).HasCallLines() {
		t.Error("new call lines are not seen")
	}
}

func TestMakeRoomRemovesTheLongestUnused(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	for i, name := range []string{"old", "older", "new"} {
		path := filepath.Join(dir, name+cacheSuffix)
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Truncate(maxCacheBytes / 4); err != nil { // sparse: no bytes on the disk
			t.Fatal(err)
		}
		f.Close()
		used := now.Add(-time.Duration([]int{2, 3, 1}[i]) * time.Hour)
		if err := os.Chtimes(path, used, used); err != nil {
			t.Fatal(err)
		}
	}
	left := func() []string {
		files, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil {
			t.Fatal(err)
		}
		for i := range files {
			files[i] = filepath.Base(files[i])
		}
		return files
	}
	makeRoom(dir, maxCacheBytes/2)
	if d := cmp.Diff([]string{"new.index", "old.index"}, left()); d != "" {
		t.Error(d)
	}
}

func TestCacheForgetsWhatIsGone(t *testing.T) {
	path := cachedTrace(t)
	openOne(t, path, Options{})
	oneEntry(t)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "other.json.gz")
	copyFile(t, "../../testdata/traces/compile/trace.json.gz", other)
	openOne(t, other, Options{})
	if e := oneEntry(t); e.Input != other {
		t.Errorf("the cache holds %s", e.Input)
	}
}

func FuzzDecode(f *testing.F) {
	ix, err := Open(context.Background(), []string{filepath.Join(casesDir, "47-backward-thread/input.json")}, Options{NoCache: true})
	if err != nil {
		f.Fatal(err)
	}
	out, err := os.CreateTemp(f.TempDir(), "index")
	if err != nil {
		f.Fatal(err)
	}
	defer out.Close()
	if err := ix.Ranks[0].Encode(out); err != nil {
		f.Fatal(err)
	}
	if _, err := out.Seek(0, io.SeekStart); err != nil {
		f.Fatal(err)
	}
	good, err := io.ReadAll(out)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint32(0), byte(0), uint32(len(good)))
	f.Add(uint32(40), byte(1), uint32(len(good)))
	f.Add(uint32(0), byte(0), uint32(31))
	f.Fuzz(func(t *testing.T, at uint32, flip byte, length uint32) {
		data := append([]byte(nil), good[:min(int(length), len(good))]...)
		if len(data) > 0 {
			data[int(at)%len(data)] ^= flip
		}
		ix, err := traceindex.Decode(data)
		changed := flip != 0 || len(data) != len(good)
		if (err == nil) == changed || (ix == nil) != (err != nil) {
			t.Errorf("damaged %t, error %v", changed, err)
		}
	})
}
