package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Config is what a user sets for the linter: `[rules]` and `target-torch` of stepline.toml or [tool.stepline].
type Config struct {
	// Select and Ignore are rule ids or prefixes ("SYN", "SYN001", "ALL"). An empty Select selects everything.
	// The longest prefix that fits a rule wins; at equal length Ignore wins.
	Select, Ignore []string
	// Severity replaces a rule's severity, by id or prefix; the longest prefix wins.
	Severity map[string]Severity
	// PerFileIgnores maps a glob (doublestar syntax, against the workspace-relative path or its base name) to ids or prefixes.
	PerFileIgnores map[string][]string
	// TargetTorch is the torch version range to lint for; unknown by default.
	TargetTorch TorchRange
	// RefutedBelow is the share of a step under which a measured cost is no finding but a hint; 0 means DefaultRefutedBelow.
	RefutedBelow float64
}

// ConfigError names the key of a configuration that is wrong.
type ConfigError struct{ Key, Message string }

func (e ConfigError) Error() string { return e.Key + ": " + e.Message }

// Check reports keys that name no rule and globs that are malformed.
func (c *Config) Check(catalog []*Rule) []ConfigError {
	var errs []ConfigError
	codes := func(key string, list []string) {
		for _, code := range list {
			if !knownPrefix(catalog, code) {
				errs = append(errs, ConfigError{key, fmt.Sprintf("no rule is called or begins with %q; `stepline rules` lists them", code)})
			}
		}
	}
	codes("rules.select", c.Select)
	codes("rules.ignore", c.Ignore)
	for _, code := range sortedKeys(c.Severity) {
		codes("rules.severity."+code, []string{code})
	}
	for _, glob := range sortedKeys(c.PerFileIgnores) {
		key := "rules.per-file-ignores." + glob
		if !doublestar.ValidatePattern(glob) {
			errs = append(errs, ConfigError{key, "not a valid glob"})
		}
		codes(key, c.PerFileIgnores[glob])
	}
	return errs
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func knownPrefix(catalog []*Rule, code string) bool {
	if strings.EqualFold(code, "ALL") {
		return true
	}
	if code == "" {
		return false
	}
	return slices.ContainsFunc(catalog, func(r *Rule) bool { return strings.HasPrefix(r.ID, code) }) ||
		strings.HasPrefix(unusedSuppression.ID, code)
}

// longest is the length of the longest prefix in list that fits id; "ALL" fits with length 0; −1 if none fits.
func longest(list []string, id string) int {
	best := -1
	for _, code := range list {
		switch {
		case strings.EqualFold(code, "ALL"):
			best = max(best, 0)
		case code != "" && strings.HasPrefix(id, code):
			best = max(best, len(code))
		}
	}
	return best
}

// Enabled reports whether a rule runs on the file of that path.
func (c *Config) Enabled(r *Rule, path string) bool {
	selected := 0
	if len(c.Select) > 0 {
		selected = longest(c.Select, r.ID)
	}
	if selected < 0 || longest(c.Ignore, r.ID) >= selected {
		return false
	}
	for glob, codes := range c.PerFileIgnores {
		if longest(codes, r.ID) >= 0 && matchesFile(glob, path) {
			return false
		}
	}
	return true
}

// matchesFile matches a glob against a path, and a glob without a slash against the base name, as ruff and flake8 do.
func matchesFile(glob, path string) bool {
	if ok, err := doublestar.Match(glob, path); err == nil && ok {
		return true
	}
	if strings.Contains(glob, "/") {
		ok, err := doublestar.Match("**/"+glob, path)
		return err == nil && ok
	}
	base := path[strings.LastIndexByte(path, '/')+1:]
	ok, err := doublestar.Match(glob, base)
	return err == nil && ok
}

// severityOf is the configured severity of a rule, SeverityDefault if none is set.
func (c *Config) severityOf(r *Rule) Severity {
	best, severity := -1, SeverityDefault
	for code, s := range c.Severity {
		if n := longest([]string{code}, r.ID); n > best {
			best, severity = n, s
		}
	}
	return severity
}
