package analysis

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/dustin/go-humanize"

	"stepline/rules"
)

// Settings is everything a user can set, after all places were merged. Treat it as immutable: copy before changing.
type Settings struct {
	// Traces are globs or paths, relative to the folder; empty means "discover, if AutoDiscover".
	Traces []string
	// TracesFromFile tells that Traces come from the folder's own file: a stranger's folder must not name files outside it.
	TracesFromFile bool
	// AutoDiscover looks for the newest run under the usual names when Traces is empty.
	AutoDiscover bool
	// AutoLoadLimitBytes is the file size over which a discovered trace is offered instead of loaded.
	AutoLoadLimitBytes int64
	// MaxMemoryBytes bounds what loading a trace may keep in memory; 0 means no bound.
	MaxMemoryBytes int64
	PathMappings   []PathMapping
	Rules          RuleSettings
	// TargetTorch is the torch version rules judge by ("2.4"), "" if unknown.
	TargetTorch string
	// Exclude are globs of files and folders that are not checked, relative to the folder.
	Exclude    []string
	InlayHints InlayHintSettings
	CodeLens   bool
	Heat       bool
	// DiagnosticsMode is "all" or "costly" (findings a trace refuted are hidden).
	DiagnosticsMode string
}

// PathMapping says that paths recorded under From lie under To here.
type PathMapping struct{ From, To string }

// RuleSettings selects rules. Select and Ignore hold rule ids or prefixes ("SYN", "SYN001"); an empty Select means all.
type RuleSettings struct {
	Select, Ignore []string
	// Severity overrides a rule's severity: "error", "warning", "info", "hint" or "off", by rule id or prefix.
	Severity map[string]string
	// PerFileIgnores are rule ids or prefixes by file glob.
	PerFileIgnores map[string][]string
}

// InlayHintSettings says what stands at line ends.
type InlayHintSettings struct {
	Enable bool
	// Threshold is the share of the step (0–1) under which a line shows nothing.
	Threshold float64
	// Show is "time+share", "time" or "share".
	Show string
}

// DefaultSettings is what holds where nobody says anything.
func DefaultSettings() Settings {
	return Settings{
		AutoDiscover:       true,
		AutoLoadLimitBytes: 512 << 20,
		InlayHints:         InlayHintSettings{Enable: true, Threshold: 0.01, Show: "time+share"},
		CodeLens:           true,
		Heat:               true,
		DiagnosticsMode:    "all",
	}
}

// Layer is what one place says: nested maps as JSON or TOML decode to. Apply merges it over settings.
type Layer struct {
	// Source names the place for messages: "stepline.toml", "initializationOptions".
	Source string
	Values map[string]any
	// line gives the line of a dotted key in the file, nil where there is none.
	line map[string]int
	// lenient passes over unknown keys: editors send settings of their own in the same object.
	lenient bool
}

// ClientLayer makes a layer of a settings object an editor sent; keys it does not know are passed over.
func ClientLayer(source string, values map[string]any) Layer {
	return Layer{Source: source, Values: values, lenient: true}
}

// SettingError is one setting that cannot be used; the others of its place still hold.
type SettingError struct {
	Source  string
	Key     string
	Line    int // from 1, 0 where there is none
	Message string
}

func (e *SettingError) Error() string {
	where := e.Source
	if e.Line > 0 {
		where += ":" + strconv.Itoa(e.Line)
	}
	if e.Key == "" {
		return where + ": " + e.Message
	}
	return fmt.Sprintf("%s: %s: %s", where, e.Key, e.Message)
}

// Merge applies the places in their order of precedence: for rules and target-torch the file wins, so that CI and editor
// agree; for everything else the client wins, later client layers over earlier ones. All errors are returned, joined;
// the settings are usable regardless.
func Merge(file Layer, client ...Layer) (Settings, error) {
	s := DefaultSettings()
	var errs []error
	errs = append(errs, file.apply(&s, func(key string) bool { return !fileWins(key) })...)
	s.TracesFromFile = true
	for _, l := range client {
		errs = append(errs, l.apply(&s, nil)...)
	}
	errs = append(errs, file.apply(&s, fileWins)...)
	return s, errors.Join(errs...)
}

func fileWins(key string) bool {
	return key == "rules" || strings.HasPrefix(key, "rules.") || key == "targettorch" || key == "perfileignores"
}

// setter stores one setting; it says what it wanted when the value does not fit.
type setter func(s *Settings, v any) error

// setters lists every setting under its dotted key, written as normalKey writes it.
var setters = map[string]setter{
	"traces":               strings1(func(s *Settings, v []string) { s.Traces, s.TracesFromFile = v, false }),
	"autodiscover":         boolean(func(s *Settings, v bool) { s.AutoDiscover = v }),
	"trace.autodiscover":   boolean(func(s *Settings, v bool) { s.AutoDiscover = v }),
	"trace.autoloadlimit":  bytes1(func(s *Settings, v int64) { s.AutoLoadLimitBytes = v }),
	"trace.maxmemory":      bytes1(func(s *Settings, v int64) { s.MaxMemoryBytes = v }),
	"pathmappings":         setPathMappings,
	"rules.select":         strings1(func(s *Settings, v []string) { s.Rules.Select = v }),
	"rules.ignore":         strings1(func(s *Settings, v []string) { s.Rules.Ignore = v }),
	"rules.severity":       setSeverity,
	"rules.perfileignores": setPerFileIgnores,
	"perfileignores":       setPerFileIgnores,
	"targettorch":          setTargetTorch,
	"exclude":              setExclude,
	"inlayhints.enable":    boolean(func(s *Settings, v bool) { s.InlayHints.Enable = v }),
	"inlayhints.threshold": setThreshold,
	"inlayhints.show":      oneOf(func(s *Settings, v string) { s.InlayHints.Show = v }, "time+share", "time", "share"),
	"codelens.enable":      boolean(func(s *Settings, v bool) { s.CodeLens = v }),
	"heat.enable":          boolean(func(s *Settings, v bool) { s.Heat = v }),
	"diagnostics.mode":     oneOf(func(s *Settings, v string) { s.DiagnosticsMode = v }, "all", "costly"),
}

// tables are the keys that hold further keys.
var tables = map[string]bool{"trace": true, "rules": true, "inlayhints": true, "codelens": true, "heat": true, "diagnostics": true}

// normalKey makes `target-torch`, `target_torch` and `targetTorch` one.
func normalKey(k string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(k))
}

func (l Layer) apply(s *Settings, only func(normal string) bool) []error {
	var errs []error
	l.walk(l.Values, "", "", func(written, normal string, v any) {
		if only != nil && !only(normal) {
			return
		}
		set, known := setters[normal]
		switch {
		case known && v == nil: // an editor's "not set"
		case known:
			if err := set(s, v); err != nil {
				errs = append(errs, l.errorAt(written, err.Error()))
			}
		case tables[normal] && v == nil:
		case tables[normal]:
			errs = append(errs, l.errorAt(written, "wanted a table of settings, not "+kindOf(v)))
		case !l.lenient:
			errs = append(errs, l.errorAt(written, "there is no such setting"+suggestion(normal)))
		}
	})
	return errs
}

// walk visits settings in a stable order. A flat key with dots ("inlayHints.enable") counts as the nested one.
func (l Layer) walk(m map[string]any, written, normal string, visit func(written, normal string, v any)) {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		w, n := k, normalKey(k)
		if written != "" {
			w, n = written+"."+k, normal+"."+n
		}
		if sub, ok := m[k].(map[string]any); ok && setters[n] == nil && (tables[n] || l.lenient) {
			l.walk(sub, w, n, visit)
			continue
		}
		visit(w, n, m[k])
	}
}

func (l Layer) errorAt(key, message string) error {
	return &SettingError{Source: l.Source, Key: key, Line: l.line[key], Message: message}
}

// suggestion names the setting that was probably meant.
func suggestion(normal string) string {
	last := normal[strings.LastIndexByte(normal, '.')+1:]
	for _, k := range settingNames {
		n := normalKey(k)
		if n[strings.LastIndexByte(n, '.')+1:] == last || strings.HasPrefix(n, normal) {
			return fmt.Sprintf(" (did you mean %s?)", k)
		}
	}
	return ""
}

// settingNames are the settings as the documentation writes them.
var settingNames = []string{"traces", "autoDiscover", "trace.autoLoadLimit", "trace.maxMemory", "pathMappings", "rules.select",
	"rules.ignore", "rules.severity", "rules.per-file-ignores", "target-torch", "exclude", "inlayHints.enable", "inlayHints.threshold", "inlayHints.show",
	"codeLens.enable", "heat.enable", "diagnostics.mode"}

func kindOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "nothing"
	case string:
		return strconv.Quote(v)
	case bool:
		return strconv.FormatBool(v)
	case []any:
		return "a list"
	case map[string]any:
		return "a table"
	default:
		return fmt.Sprint(v)
	}
}

func boolean(store func(*Settings, bool)) setter {
	return func(s *Settings, v any) error {
		b, ok := v.(bool)
		if !ok {
			return fmt.Errorf("wanted true or false, not %s", kindOf(v))
		}
		store(s, b)
		return nil
	}
}

func strings1(store func(*Settings, []string)) setter {
	return func(s *Settings, v any) error {
		list, err := stringList(v)
		if err == nil {
			store(s, list)
		}
		return err
	}
}

// stringList takes a list of strings, or one string for a list of one.
func stringList(v any) ([]string, error) {
	switch v := v.(type) {
	case string:
		return []string{v}, nil
	case []any:
		list := make([]string, 0, len(v))
		for _, e := range v {
			t, ok := e.(string)
			if !ok {
				return nil, fmt.Errorf("wanted a list of strings, but it holds %s", kindOf(e))
			}
			list = append(list, t)
		}
		return list, nil
	}
	return nil, fmt.Errorf("wanted a list of strings, not %s", kindOf(v))
}

func oneOf(store func(*Settings, string), allowed ...string) setter {
	return func(s *Settings, v any) error {
		t, _ := v.(string)
		for _, a := range allowed {
			if t == a {
				store(s, t)
				return nil
			}
		}
		return fmt.Errorf("wanted one of %s, not %s", strings.Join(allowed, ", "), kindOf(v))
	}
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case int64:
		return float64(v), true
	case int:
		return float64(v), true
	}
	return 0, false
}

func setThreshold(s *Settings, v any) error {
	f, ok := number(v)
	if !ok || !(f >= 0 && f <= 1) {
		return fmt.Errorf("wanted a share of the step from 0 to 1 (0.01 is 1 %%), not %s", kindOf(v))
	}
	s.InlayHints.Threshold = f
	return nil
}

// bytes1 takes a number of bytes, or a string with a unit: "512 MB", "2GiB".
func bytes1(store func(*Settings, int64)) setter {
	return func(s *Settings, v any) error {
		if f, ok := number(v); ok && f >= 0 && f <= 1<<62 {
			store(s, int64(f))
			return nil
		}
		if t, ok := v.(string); ok {
			if n, ok := ParseBytes(t); ok {
				store(s, n)
				return nil
			}
		}
		return fmt.Errorf(`wanted a size in bytes or like "512 MB", not %s`, kindOf(v))
	}
}

// ParseBytes reads a size with a unit of a thousand (kB, MB …) or of 1024 (KiB, MiB …), or none: "512 MB", "2GiB", "0".
func ParseBytes(text string) (int64, bool) {
	n, err := humanize.ParseBytes(strings.TrimSpace(text))
	return int64(n), err == nil && n <= 1<<62
}

func setPathMappings(s *Settings, v any) error {
	list, ok := v.([]any)
	if !ok {
		return fmt.Errorf("wanted a list of {from, to}, not %s", kindOf(v))
	}
	var out []PathMapping
	for _, e := range list {
		m, _ := e.(map[string]any)
		from, okFrom := m["from"].(string)
		to, okTo := m["to"].(string)
		if !okFrom || !okTo || from == "" {
			return fmt.Errorf("wanted {from, to} with two paths, not %s", kindOf(e))
		}
		out = append(out, PathMapping{From: from, To: to})
	}
	s.PathMappings = out
	return nil
}

func setSeverity(s *Settings, v any) error {
	m, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("wanted a table of rule = severity, not %s", kindOf(v))
	}
	out := map[string]string{}
	for rule, e := range m {
		t, _ := e.(string)
		switch t {
		case "error", "warning", "info", "hint", "off":
			out[rule] = t
		default:
			return fmt.Errorf("%s: wanted error, warning, info, hint or off, not %s", rule, kindOf(e))
		}
	}
	s.Rules.Severity = out
	return nil
}

func setPerFileIgnores(s *Settings, v any) error {
	m, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("wanted a table of glob = [rules], not %s", kindOf(v))
	}
	out := map[string][]string{}
	for glob, e := range m {
		list, err := stringList(e)
		if err != nil {
			return fmt.Errorf("%s: %w", glob, err)
		}
		out[glob] = list
	}
	s.Rules.PerFileIgnores = out
	return nil
}

func setExclude(s *Settings, v any) error {
	globs, err := stringList(v)
	if err != nil {
		return err
	}
	for _, glob := range globs {
		if !doublestar.ValidatePattern(filepath.ToSlash(glob)) {
			return fmt.Errorf("%q is not a valid glob", glob)
		}
	}
	s.Exclude = globs
	return nil
}

func setTargetTorch(s *Settings, v any) error {
	t, ok := v.(string)
	if f, isNumber := number(v); isNumber {
		if t, ok = strconv.FormatFloat(f, 'f', -1, 64), true; strings.HasSuffix(t, ".1") {
			return fmt.Errorf("%s and %s0 are the same number: write the version in quotes", t, t)
		}
	}
	if !ok {
		return fmt.Errorf(`wanted a torch version like "2.4" or ">=2.1,<2.6", not %s`, kindOf(v))
	}
	if _, err := rules.ParseTorchVersion(t); err != nil {
		return err
	}
	s.TargetTorch = t
	return nil
}

// LoadSettingsFile reads the folder's stepline.toml or, without one, [tool.stepline] of its pyproject.toml. A folder with
// neither gives an empty layer. A file that is no TOML gives an error with its line and an empty layer.
func LoadSettingsFile(root string) (Layer, error) {
	for _, name := range []string{"stepline.toml", "pyproject.toml"} {
		text, err := readSmallFile(filepath.Join(root, name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return Layer{Source: name}, fmt.Errorf("%s: %w", name, err)
		}
		layer, found, err := parseTOML(name, text)
		if err != nil || found {
			return layer, err
		}
	}
	return Layer{}, nil
}

// maxSettingsFile bounds a settings file; a larger one is no settings file.
const maxSettingsFile = 4 << 20

func readSmallFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	if info.Size() > maxSettingsFile {
		return nil, fmt.Errorf("%d bytes are too many for a settings file (limit %d)", info.Size(), maxSettingsFile)
	}
	return os.ReadFile(path)
}
