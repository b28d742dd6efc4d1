// Package recordertest finds what tests of recordings need on the machine. Only tests import it.
package recordertest

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// findPython looks once a test program: to import torch takes seconds.
var findPython = sync.OnceValues(func() (string, error) {
	candidates := []string{"/usr/bin/python3", "python3"}
	if named := os.Getenv("STEPLINE_TEST_PYTHON"); named != "" {
		candidates = []string{named}
	}
	for _, candidate := range candidates {
		if path, err := exec.LookPath(candidate); err == nil && exec.Command(path, "-c", "import torch").Run() == nil {
			return path, nil
		}
	}
	return "", errors.New("no Python with torch among " + strings.Join(candidates, ", ") +
		": `apt-get install -y python3-torch`, or name one with STEPLINE_TEST_PYTHON")
})

// Python is a Python that has torch: the one that STEPLINE_TEST_PYTHON names, or else the first on the machine. Without one the
// test fails in CI and is skipped elsewhere.
func Python(t testing.TB) string {
	t.Helper()
	python, err := findPython()
	switch {
	case err == nil:
	case os.Getenv("CI") == "true":
		t.Fatal(err)
	default:
		t.Skip(err)
	}
	return python
}
