package main

import (
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestImportsFollowThePicture reads the README's picture of packages ("| package | may import |") and compares it with what
// `go list` says. Tests may import more; what ships may not.
func TestImportsFollowThePicture(t *testing.T) {
	allowed := readPicture(t)
	command := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...")
	command.Dir = "../.."
	output, err := command.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	seen := map[string]bool{}
	for _, line := range strings.Split(strings.TrimSpace(string(output)), "\n") {
		fields := strings.Fields(line)
		importer := pictureEntry(allowed, fields[0])
		if importer == "" {
			t.Errorf("%s is in no row of the README's picture", fields[0])
			continue
		}
		seen[importer] = true
		for _, imported := range fields[1:] {
			if !strings.HasPrefix(imported, "stepline/") {
				continue
			}
			entry := pictureEntry(allowed, imported)
			if entry != importer && !slices.Contains(allowed[importer], entry) {
				t.Errorf("%s imports %s: the picture allows %s only %s", fields[0], imported, importer, strings.Join(allowed[importer], ", "))
			}
		}
	}
	for entry := range allowed {
		if !seen[entry] {
			t.Errorf("the picture has %s, the module does not", entry)
		}
	}
	for entry, list := range allowed {
		for _, below := range list {
			if reaches(allowed, below, entry) {
				t.Errorf("the picture goes round in a circle: %s → %s → … → %s", entry, below, entry)
			}
		}
	}
}

var (
	pictureRow    = regexp.MustCompile("(?m)^\\| `([a-z/]+)` \\|[^|\n]*\\|([^|\n]*)\\|$")
	pictureImport = regexp.MustCompile("`([a-z/]+)`")
)

// readPicture is package → packages it may import, as the README has it.
func readPicture(t *testing.T) map[string][]string {
	t.Helper()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, picture, found := strings.Cut(string(readme), "<!-- imports -->")
	picture, _, ended := strings.Cut(picture, "<!-- /imports -->")
	if !found || !ended {
		t.Fatal("README.md has no table between <!-- imports --> and <!-- /imports -->")
	}
	allowed := map[string][]string{}
	for _, row := range pictureRow.FindAllStringSubmatch(picture, -1) {
		list := []string{}
		for _, name := range pictureImport.FindAllStringSubmatch(row[2], -1) {
			list = append(list, name[1])
		}
		allowed[row[1]] = list
	}
	if len(allowed) < 5 {
		t.Fatalf("only %d packages in the README's picture", len(allowed))
	}
	return allowed
}

// pictureEntry is the row that speaks for a package: its own or that of the nearest folder above it.
func pictureEntry(allowed map[string][]string, importPath string) string {
	for name := strings.TrimPrefix(importPath, "stepline/"); name != "."; name = path.Dir(name) {
		if _, ok := allowed[name]; ok {
			return name
		}
	}
	return ""
}

func reaches(allowed map[string][]string, from, to string) bool {
	return from == to || slices.ContainsFunc(allowed[from], func(next string) bool { return reaches(allowed, next, to) })
}
