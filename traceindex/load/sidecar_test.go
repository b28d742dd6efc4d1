package load

import (
	"bytes"
	"compress/gzip"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stepline/traceindex"
)

// TestARowOfCallLinesIsBounded: two kilobytes of gzip must not become gigabytes of memory.
func TestARowOfCallLinesIsBounded(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	for _, part := range []string{`[["aten::mm",1,"a.py",1,"f",1],["`, strings.Repeat("x", maxRowBytes), strings.Repeat("x", 64<<10), `",1,"a.py",1,"f",1]]`} {
		if _, err := z.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	side := filepath.Join(t.TempDir(), "a.callers.json.gz")
	if err := os.WriteFile(side, packed.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	err := readCallLines(context.Background(), &traceindex.Index{}, side)
	if err == nil || !strings.Contains(err.Error(), "row 1") || !strings.Contains(err.Error(), "longer than 1048576 bytes") {
		t.Errorf("got %v", err)
	}
}

// TestWhatLiesBesideATrace: files of its real folder, however the trace is named.
func TestWhatLiesBesideATrace(t *testing.T) {
	folder, elsewhere := t.TempDir(), t.TempDir()
	touch := func(path string) string {
		t.Helper()
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	link := func(to, path string) string {
		t.Helper()
		if err := os.Symlink(to, path); err != nil {
			t.Skip(err) // Windows wants a right for it
		}
		return path
	}
	plain, secret := touch(filepath.Join(folder, "plain.json.gz")), touch(filepath.Join(elsewhere, "secret.json.gz"))
	beside := touch(filepath.Join(folder, "plain.callers.json.gz"))
	leading := touch(filepath.Join(folder, "leading.json"))
	link(secret, filepath.Join(folder, "leading.callers.json"))
	link("/dev/zero", filepath.Join(folder, "leading.sources.json"))
	latest := link(plain, filepath.Join(elsewhere, "latest.json.gz"))
	linked := link(beside, filepath.Join(elsewhere, "latest.callers.json.gz"))
	for _, test := range []struct{ trace, kind, want string }{
		{plain, "callers", beside},
		{plain, "sources", ""},
		{leading, "callers", ""},
		{leading, "sources", ""},
		{latest, "callers", linked},
	} {
		if got, ok := Beside(test.trace, test.kind); got != test.want || ok != (test.want != "") {
			t.Errorf("%s of %s: %q", test.kind, test.trace, got)
		}
	}
}

// TestAGlobDoesNotGoInCircles: links to folders count where they are spelt out.
func TestAGlobDoesNotGoInCircles(t *testing.T) {
	folder := t.TempDir()
	for _, dir := range []string{"runs/a"} {
		if err := os.MkdirAll(filepath.Join(folder, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(folder, "runs/a/t.json"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"round", "round2", "runs/up"} {
		if err := os.Symlink(folder, filepath.Join(folder, name)); err != nil {
			t.Skip(err)
		}
	}
	for _, test := range []struct{ glob, want string }{
		{"**/*.json", "runs/a/t.json"},
		{"*/*/*.json", "runs/a/t.json"},
		{"round/runs/*/*.json", "round/runs/a/t.json"},
	} {
		found, err := Glob(filepath.Join(folder, test.glob))
		if err != nil || len(found) != 1 || found[0] != filepath.Join(folder, filepath.FromSlash(test.want)) {
			t.Errorf("%s: %v, %v", test.glob, found, err)
		}
	}
}
