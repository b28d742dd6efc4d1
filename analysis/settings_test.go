package analysis

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestSettingsFileErrorsNameKeyAndLine(t *testing.T) {
	tests := []struct{ name, file, text, want string }{
		{"wrong kind", "stepline.toml", "# c\n[inlayHints]\nthreshold = \"1 %\"\n",
			`stepline.toml:3: inlayHints.threshold: wanted a share of the step from 0 to 1 (0.01 is 1 %), not "1 %"`},
		{"unknown key", "stepline.toml", "traces = []\n\n[rules]\nselct = [\"SYN\"]\n", "stepline.toml:4: rules.selct: there is no such setting"},
		{"moved key", "stepline.toml", "threshold = 0.5\n", "stepline.toml:1: threshold: there is no such setting (did you mean inlayHints.threshold?)"},
		{"inline table", "stepline.toml", "codeLens = {enable = 3}\n", "stepline.toml:1: codeLens.enable: wanted true or false, not 3"},
		{"pyproject", "pyproject.toml", "[project]\nname = \"x\"\n[tool.stepline.rules]\nignore = 1\n", "pyproject.toml:4: rules.ignore: wanted a list of strings, not 1"},
		{"severity", "stepline.toml", "[rules.severity]\nSYN001 = \"loud\"\n", `stepline.toml:1: rules.severity: SYN001: wanted error, warning, info, hint or off, not "loud"`},
		{"a version as a number", "stepline.toml", "target-torch = 2.10\n", "stepline.toml:1: target-torch: 2.1 and 2.10 are the same number: write the version in quotes"},
		{"no glob", "stepline.toml", "exclude = [\"a\", \"[\"]\n", `stepline.toml:1: exclude: "[" is not a valid glob`},
		{"not a table", "stepline.toml", "rules = 3\n", "stepline.toml:1: rules: wanted a table of settings, not 3"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			writeFile(t, filepath.Join(dir, test.file), test.text)
			layer, err := LoadSettingsFile(dir)
			if err != nil {
				t.Fatal(err)
			}
			if _, err = Merge(layer); err == nil || err.Error() != test.want {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
}

func TestSettingsFileThatIsNoTOML(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "stepline.toml"), "traces = [\n\"a\"\n\nrules =")
	_, err := LoadSettingsFile(dir)
	var bad *SettingError
	if !errors.As(err, &bad) || bad.Line != 4 {
		t.Fatalf("got %v, want a SettingError on line 4", err)
	}
}

func TestMergePrecedence(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "stepline.toml"), `
traces = ["file.json"]
target-torch = "2.4"
[rules]
ignore = ["DST"]
[inlayHints]
threshold = 0.5
show = "time"
`)
	file, err := LoadSettingsFile(dir)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Merge(file,
		ClientLayer("initializationOptions", map[string]any{
			"traces": []any{"init.json"}, "targetTorch": "1.13", "unknown": true,
			"inlayHints": map[string]any{"threshold": 0.02}, "rules": map[string]any{"ignore": []any{"SYN"}, "select": []any{"AMP"}}}),
		ClientLayer("workspace/configuration", map[string]any{"traces": nil, "inlayHints": map[string]any{"threshold": 0.03}, "codeLens.enable": false}))
	if err != nil {
		t.Fatal(err)
	}
	want := DefaultSettings()
	want.Traces, want.TargetTorch, want.CodeLens = []string{"init.json"}, "2.4", false
	want.Rules.Ignore, want.Rules.Select = []string{"DST"}, []string{"AMP"}
	want.InlayHints = InlayHintSettings{Enable: true, Threshold: 0.03, Show: "time"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

func TestBadClientSettingLosesNothingElse(t *testing.T) {
	got, err := Merge(Layer{}, ClientLayer("workspace/configuration", map[string]any{
		"heat": map[string]any{"enable": "yes"}, "diagnostics": map[string]any{"mode": "costly"}, "trace": map[string]any{"autoLoadLimit": "1.5 GB"}}))
	if err == nil || err.Error() != `workspace/configuration: heat.enable: wanted true or false, not "yes"` {
		t.Errorf("error %v", err)
	}
	if !got.Heat || got.DiagnosticsMode != "costly" || got.AutoLoadLimitBytes != 1_500_000_000 {
		t.Errorf("settings %+v", got)
	}
}
