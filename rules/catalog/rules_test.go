package catalog

import (
	"path/filepath"
	"strings"
	"testing"

	"stepline/rules/internal/rulestest"
)

// TestRules checks every rule of the catalogue against the page and the fixtures in its folder. One test binary for all of them:
// linking one a folder took most of the tests' time. A single rule: go test ./rules/catalog -run TestRules/SYN001.
func TestRules(t *testing.T) {
	for _, rule := range All() {
		if rule.Family() == "LNT" { // made by the frame, in no folder of its own
			continue
		}
		t.Run(rule.ID, func(t *testing.T) {
			t.Parallel()
			rulestest.Run(t, rule, filepath.Join("..", strings.ToLower(rule.ID)))
		})
	}
}
