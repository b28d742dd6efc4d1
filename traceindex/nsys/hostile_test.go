package nsys

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestErrors(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	whole, err := os.ReadFile(filepath.Join(casesFolder, "70-nsys-no-nvtx", "input.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	other := export(t, `CREATE TABLE bookmarks (url TEXT)`)
	tests := []struct {
		name, path string
		notExport  bool
	}{
		{"text", write("a.sqlite", "no database"), true},
		{"empty", write("b.sqlite", ""), true},
		{"header only", write("c.sqlite", sqliteMagic), false},
		{"cut short", write("d.sqlite", string(whole[:8192])), false},
		{"other database", other, true},
		{"name with characters of a URL", write("e?mode=rwc#x%41.sqlite", "no database"), true},
		{"absent", filepath.Join(folder, "absent.sqlite"), false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ranks, err := Read(context.Background(), test.path)
			if err == nil || ranks != nil || !strings.Contains(err.Error(), filepath.Base(test.path)) || strings.Contains(err.Error(), "\n") {
				t.Fatalf("error %v", err)
			}
			if errors.Is(err, ErrNotExport) != test.notExport {
				t.Errorf("error %v, ErrNotExport %v", err, errors.Is(err, ErrNotExport))
			}
		})
	}
	strange := write("f?mode=rwc#x%41.sqlite", string(whole))
	if ix := one(t, strange); len(ix.GPUEvents) != 1 {
		t.Errorf("%d kernels in a file with a strange name", len(ix.GPUEvents))
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Read(ctx, strange); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if !Sniff(whole[:64]) || Sniff([]byte("SQLite")) {
		t.Error("Sniff")
	}
}

func FuzzRead(f *testing.F) {
	for _, path := range []string{filepath.Join(casesFolder, "70-nsys-no-nvtx", "input.sqlite"), filepath.Join(casesFolder, "72-nsys-idle-two-streams", "input.sqlite")} {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for at := range 4 { // where a few bytes are replaced
			f.Add(data, uint32(100+997*at), []byte{0xff, byte(at)})
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, at uint32, patch []byte) {
		if len(data) > 1<<16 {
			return
		}
		data = append([]byte(nil), data...)
		if len(data) > 0 {
			copy(data[int(at)%len(data):], patch)
		}
		path := filepath.Join(t.TempDir(), "x.sqlite")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		ranks, err := Read(context.Background(), path)
		if err == nil && len(ranks) == 0 {
			t.Error("neither ranks nor an error")
		}
	})
}
