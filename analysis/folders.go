package analysis

import (
	"os"
	"path/filepath"
	"strings"
)

// TraceFolders lists a folder and the folders below it that DiscoverTraces looks into, the shallow ones first and at most
// most of them: where new traces are to be expected. What cannot be read is left out.
func TraceFolders(folder string, most int) []string {
	if most <= 0 || skipsTraces(filepath.Base(folder)) {
		return nil
	}
	found := []string{folder}
	for i := 0; i < len(found) && len(found) < most; i++ {
		entries, err := os.ReadDir(found[i])
		if err != nil {
			continue
		}
		for _, e := range entries {
			if e.IsDir() && !skipsTraces(e.Name()) && len(found) < most {
				found = append(found, filepath.Join(found[i], e.Name()))
			}
		}
	}
	return found
}

// skipsTraces tells whether traces are not looked for in a folder of that name.
func skipsTraces(name string) bool { return skippedFolders[name] || strings.HasPrefix(name, ".") }
