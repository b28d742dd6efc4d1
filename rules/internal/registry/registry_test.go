package registry

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"stepline/rules/catalog"
)

// TestGeneratedFilesAreFresh fails when a rule folder, a page's heading data or a rule's fields changed without `go generate ./rules/catalog`.
func TestGeneratedFilesAreFresh(t *testing.T) {
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	folders, err := Folders(filepath.Join(root, "rules"))
	if err != nil {
		t.Fatal(err)
	}
	source, err := Catalog(folders)
	if err != nil {
		t.Fatal(err)
	}
	check := func(path string, want []byte) {
		got, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is stale: run `go generate ./rules/catalog`", path)
		}
	}
	check("rules/catalog/catalog.go", source)
	check("docs/rules.md", Table(catalog.All()))
}
