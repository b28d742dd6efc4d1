package rules

import (
	"strings"
	"testing"
)

// TestPathsOfTests: whatever its length, the end of a path tells tests apart.
func TestPathsOfTests(t *testing.T) {
	long := strings.Repeat("folder/", maxPathBytes)
	for path, want := range map[string]bool{
		"train.py": false, "src/latest/train.py": false, "contest.py": false, "src/mytests/train.py": false,
		"tests/train.py": true, "src/test/train.py": true, "Testing/x.py": true, "src/test_train.py": true, "train_test.py": true, "conftest.py": true,
		long + "train.py": false, long + "tests/train.py": true, long + "test_train.py": true, long + "conftest.py": true,
		"tests/" + long + "train.py": false, strings.Repeat("tests", maxPathBytes): false,
	} {
		if got := testPath.MatchString(path); got != want {
			t.Errorf("%s (%d bytes) is a test's: %v", path[:min(len(path), 60)], len(path), got)
		}
	}
}
