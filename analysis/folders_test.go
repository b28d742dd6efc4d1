package analysis

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestTraceFoldersAreTheShallowOnesFirst(t *testing.T) {
	root := filepath.Join(t.TempDir(), "work")
	for _, f := range []string{"runs/one/deep", "runs/two", "src", ".git/objects", "venv/lib", "node_modules/x"} {
		if err := os.MkdirAll(filepath.Join(root, f), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var all []string
	for _, f := range []string{"", "runs", "src", "runs/one", "runs/two", "runs/one/deep"} {
		all = append(all, filepath.Join(root, f))
	}
	for most := range len(all) + 2 {
		if got, want := TraceFolders(root, most), all[:min(most, len(all))]; !slices.Equal(got, want) {
			t.Errorf("at most %d: %q, want %q", most, got, want)
		}
	}
	for _, none := range []string{filepath.Join(root, ".git"), filepath.Join(root, "venv")} {
		if got := TraceFolders(none, 9); got != nil {
			t.Errorf("%s: %q", none, got)
		}
	}
}
