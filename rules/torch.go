package rules

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Version is a torch release, major and minor: {2, 6}.
type Version struct{ Major, Minor int }

// Compare orders versions.
func (v Version) Compare(o Version) int {
	if v.Major != o.Major {
		return v.Major - o.Major
	}
	return v.Minor - o.Minor
}

// String is "2.6".
func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// TorchRange is the torch versions a project may run with: from Min on (zero: any), and below Below (zero: no upper end).
// The zero value is "unknown": any version.
type TorchRange struct{ Min, Below Version }

// AtLeast reports whether every version of the range is at least major.minor.
func (r TorchRange) AtLeast(major, minor int) bool {
	return r.Min != Version{} && r.Min.Compare(Version{major, minor}) >= 0
}

// Under reports whether every version of the range is older than major.minor.
func (r TorchRange) Under(major, minor int) bool {
	return r.Below != Version{} && r.Below.Compare(Version{major, minor}) <= 0
}

// Known reports whether anything is known about the version.
func (r TorchRange) Known() bool { return r != TorchRange{} }

// union is every version of both ranges.
func (r TorchRange) union(o TorchRange) TorchRange {
	out := TorchRange{}
	if r.Min != (Version{}) && o.Min != (Version{}) {
		out.Min = r.Min
		if o.Min.Compare(r.Min) < 0 {
			out.Min = o.Min
		}
	}
	if r.Below != (Version{}) && o.Below != (Version{}) {
		out.Below = r.Below
		if o.Below.Compare(r.Below) > 0 {
			out.Below = o.Below
		}
	}
	return out
}

// ParseTorchVersion reads the setting `target-torch`: "2.6", "2.6.1", or a requirement such as ">=2.1,<2.6".
func ParseTorchVersion(text string) (TorchRange, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return TorchRange{}, nil
	}
	if text[0] >= '0' && text[0] <= '9' {
		text = "==" + text
	}
	r, ok := parseSpecifiers(text)
	if !ok {
		return TorchRange{}, fmt.Errorf("cannot read torch version %q: write it as 2.6 or >=2.1,<2.6", text)
	}
	return r, nil
}

var specifier = regexp.MustCompile(`^(===|==|~=|>=|<=|!=|>|<|\^|~|=)\s*v?(\d+)(?:\.(\d+|\*))?((?:\.(?:\d+|\*))*)[\w.+-]*$`)

// parseSpecifiers reads a PEP 440 (or Poetry) version specifier list.
func parseSpecifiers(text string) (TorchRange, bool) {
	var r TorchRange
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		if part == "" || part == "*" {
			continue
		}
		if part[0] >= '0' && part[0] <= '9' {
			part = "==" + part
		}
		m := specifier.FindStringSubmatch(part)
		if m == nil {
			return TorchRange{}, false
		}
		major, _ := strconv.Atoi(m[2])
		minor, minorErr := strconv.Atoi(m[3])
		v := Version{major, minor}
		next := Version{major, minor + 1}
		if minorErr != nil { // "2" or "2.*"
			next = Version{major + 1, 0}
		}
		patch := strings.Trim(m[4], ".")
		switch m[1] {
		case "==", "===", "=", "~":
			r.Min, r.Below = v, next
		case "~=":
			r.Min = v
			r.Below = Version{major + 1, 0}
			if patch != "" {
				r.Below = next
			}
		case "^":
			r.Min, r.Below = v, Version{major + 1, 0}
		case ">=", ">":
			r.Min = v
		case "<=":
			r.Below = next
		case "<":
			r.Below = v
			if patch != "" && strings.Trim(patch, ".0") != "" { // <2.6.1 still allows 2.6
				r.Below = next
			}
		}
	}
	return r, true
}

// requirementLine matches a torch requirement as requirements files, pyproject lists, setup.py and conda files write it.
var requirementLine = regexp.MustCompile(`(?m)^[\s"'\-]*(?:pytorch::)?(?:torch|pytorch)(?:\[[^\]]*\])?\s*\(?\s*((?:[=<>!~^]=?=?\s*[\w.*+-]+\s*,?\s*)*)\)?\s*(?:["';#].*)?,?\s*$`)

// quotedRequirement finds "torch>=2.1" anywhere on a line (pyproject arrays on one line, setup.py).
var quotedRequirement = regexp.MustCompile(`["']torch(?:\[[^\]]*\])?\s*((?:[=<>!~]=?=?\s*[\w.*+-]+\s*,?\s*)*)(?:;[^"']*)?["']`)

// poetryRequirement matches `torch = "^2.1"` and `torch = {version = "2.1", …}`.
var poetryRequirement = regexp.MustCompile(`(?m)^\s*torch\s*=\s*(?:\{[^}\n]*version\s*=\s*)?["']([^"']*)["']`)

// lockedVersion matches a [[package]] entry of poetry.lock, uv.lock and pdm.lock.
var lockedVersion = regexp.MustCompile(`(?m)^name\s*=\s*"torch"\s*\r?\nversion\s*=\s*"([^"]+)"`)

// pipfileLocked matches Pipfile.lock's entry.
var pipfileLocked = regexp.MustCompile(`(?s)"torch"\s*:\s*\{[^}]*?"version"\s*:\s*"([^"]+)"`)

// TorchFromFiles reads the torch version range of a project from its lock files, else its requirement files, in dir of
// fsys: a lock file pins it; requirement files that disagree widen the range. Nothing found or nothing readable: unknown.
func TorchFromFiles(fsys fs.FS, dir string) TorchRange {
	read := func(name string) string {
		data, err := fs.ReadFile(fsys, path.Join(dir, name))
		if err != nil || len(data) > 16<<20 {
			return ""
		}
		return string(data)
	}
	for _, name := range []string{"uv.lock", "poetry.lock", "pdm.lock"} {
		if r, ok := rangeOf(lockedVersion.FindAllStringSubmatch(read(name), -1)); ok {
			return r
		}
	}
	if r, ok := rangeOf(pipfileLocked.FindAllStringSubmatch(read("Pipfile.lock"), -1)); ok {
		return r
	}
	var found []TorchRange
	add := func(r TorchRange, ok bool) {
		if ok {
			found = append(found, r)
		}
	}
	for _, name := range requirementFiles(fsys, dir) {
		text := read(name)
		switch path.Ext(name) {
		case ".toml", ".cfg", ".py":
			add(rangeOf(poetryRequirement.FindAllStringSubmatch(text, -1)))
			add(rangeOf(quotedRequirement.FindAllStringSubmatch(text, -1)))
			if path.Ext(name) == ".cfg" {
				add(rangeOf(requirementLine.FindAllStringSubmatch(text, -1)))
			}
		default:
			add(rangeOf(requirementLine.FindAllStringSubmatch(text, -1)))
		}
	}
	if len(found) == 0 {
		return TorchRange{}
	}
	r := found[0]
	for _, o := range found[1:] {
		r = r.union(o)
	}
	return r
}

// requirementFiles lists the files of dir that can name a torch requirement, by the usual names.
func requirementFiles(fsys fs.FS, dir string) []string {
	names := []string{"pyproject.toml", "setup.py", "setup.cfg", "environment.yml", "environment.yaml"}
	for _, pattern := range []string{"requirements*.txt", "requirements*.in", "requirements/*.txt", "constraints*.txt"} {
		matches, err := fs.Glob(fsys, path.Join(dir, pattern))
		if err != nil {
			continue // only a malformed dir can do this; the fixed names still count
		}
		for _, m := range matches {
			names = append(names, strings.TrimPrefix(strings.TrimPrefix(m, dir), "/"))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// rangeOf merges the specifiers of regexp matches; a requirement without a version counts as any version.
func rangeOf(matches [][]string) (TorchRange, bool) {
	var out TorchRange
	seen := false
	for _, m := range matches {
		spec := strings.TrimSpace(m[1])
		r, ok := parseSpecifiers(spec)
		if !ok {
			r = TorchRange{}
		}
		if !seen {
			out, seen = r, true
			continue
		}
		out = out.union(r)
	}
	return out, seen
}
