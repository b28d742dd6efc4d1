package rules_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"stepline/pyscan"
	"stepline/rules"
	"stepline/rules/catalog"
)

const loop = `import torch


def train(model, loader):
    model = model.cuda()
    opt = torch.optim.RMSprop(model.parameters())
    for x in loader:
        loss = model(x.cuda()).mean()
        loss.backward()
        opt.step()
%s
`

func lintLoop(t *testing.T, body string, config rules.Config) []string {
	t.Helper()
	file := pyscan.Parse("train.py", fmt.Sprintf(loop, body))
	if len(file.SyntaxErrors) > 0 {
		t.Fatalf("%v", file.SyntaxErrors)
	}
	var out []string
	for _, f := range rules.Run(catalog.All(), rules.Target{File: file}, config).Findings {
		out = append(out, fmt.Sprintf("%d %s %s", file.Line(f.Span.Start), f.Rule.ID, f.Severity))
	}
	return out
}

func TestSuppressions(t *testing.T) {
	tests := []struct {
		name, body string
		want       []string
	}{
		{"none", "        a = loss.item()", []string{"11 SYN001 warning"}},
		{"on the line", "        a = loss.item()  # stepline: ignore[SYN001]", nil},
		{"by name", "        a = loss.item()  # stepline: ignore[item-in-loop]", nil},
		{"by prefix", "        a = loss.item()  # stepline: ignore[SYN]", nil},
		{"everything", "        a = loss.item()  # stepline: ignore", nil},
		{"noqa", "        a = loss.item()  # noqa: SYN001", nil},
		{"noqa among others", "        a = loss.item()  # noqa: E501, SYN001", nil},
		{"bare noqa", "        a = loss.item()  # noqa", nil},
		{"noqa of another linter", "        a = loss.item()  # noqa: E501", []string{"11 SYN001 warning"}},
		{"another rule", "        a = loss.item()  # stepline: ignore[SYN004]", []string{"11 SYN001 warning", "11 LNT001 info"}},
		{"unused", "        a = 1  # stepline: ignore[SYN001]", []string{"11 LNT001 info"}},
		{"unused noqa", "        a = 1  # noqa: SYN001", []string{"11 LNT001 info"}},
		{"unused noqa of another linter", "        a = 1  # noqa: E501", nil},
		{"noqa of another linter's family", "        a = loss.item()  # noqa: S", []string{"11 SYN001 warning"}},
		{"unused noqa of other linters' families", "        a = 1  # noqa: D", nil},
		{"unused, and said to be", "        a = 1  # stepline: ignore[SYN001, LNT001]", nil},
		{"unused noqa, and said to be", "        a = 1  # noqa: SYN001  # stepline: ignore[LNT001]", nil},
		{"nothing unused", "        a = 1  # stepline: ignore[LNT001]", []string{"11 LNT001 info"}},
		{"unknown code", "        a = 1  # stepline: ignore[XYZ001]", []string{"11 LNT001 info"}},
		{"at the end of a statement of several lines", "        a = max(\n            loss.item(),\n            1,\n        )  # stepline: ignore[SYN001]", nil},
		{"in a string", "        a, b = loss.item(), '# stepline: ignore[SYN001]'", []string{"11 SYN001 warning"}},
		{"whole file", "        a = loss.item()\n# stepline: ignore-file[SYN001]", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := lintLoop(t, test.body, rules.Config{})
			slices.Sort(got)
			slices.Sort(test.want)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestUnusedIgnoresOfRulesThatDidNotRun: switching a rule off makes its ignore comments neither used nor unused.
func TestUnusedIgnoresOfRulesThatDidNotRun(t *testing.T) {
	got := lintLoop(t, "        a = loss.item()  # stepline: ignore[SYN001]", rules.Config{Ignore: []string{"SYN001"}})
	if len(got) != 0 {
		t.Errorf("got %v", got)
	}
}

func TestUnusedIgnoreFix(t *testing.T) {
	for before, after := range map[string]string{
		"x = 1  # stepline: ignore[SYN001]\n":                   "x = 1\n",
		"# stepline: ignore[SYN001]\nx = 1\n":                   "x = 1\n",
		"x = 1  # stepline: ignore[SYN001] because of y\n":      "x = 1  # because of y\n",
		"x = 1  # stepline: ignore[SYN001]  # type: ignore\n":   "x = 1  # type: ignore\n",
		"x = 1  # noqa: E501, SYN001\n":                         "x = 1  # noqa: E501\n",
		"x = 1  # noqa: SYN001, E501\n":                         "x = 1  # noqa: E501\n",
		"import torch\r\nx = 1  # stepline: ignore[SYN001]\r\n": "import torch\r\nx = 1\r\n",
	} {
		file := pyscan.Parse("a.py", before)
		var fixes []rules.Fix
		for _, f := range rules.Run(catalog.All(), rules.Target{File: file}, rules.Config{}).Findings {
			fixes = append(fixes, *f.Fix())
		}
		got := rules.ApplyFixes(fixes).Texts[file]
		if got != after {
			t.Errorf("%q became %q, want %q", before, got, after)
		}
	}
}

func TestConfigSelects(t *testing.T) {
	body := "        a = loss.item()\n        torch.cuda.synchronize()"
	tests := []struct {
		name   string
		config rules.Config
		want   []string
	}{
		{"default", rules.Config{}, []string{"11 SYN001 warning", "12 SYN004 warning"}},
		{"select one", rules.Config{Select: []string{"SYN004"}}, []string{"12 SYN004 warning"}},
		{"ignore one", rules.Config{Ignore: []string{"SYN004"}}, []string{"11 SYN001 warning"}},
		{"ignore a family", rules.Config{Ignore: []string{"SYN"}}, nil},
		{"a longer select wins", rules.Config{Select: []string{"ALL", "SYN004"}, Ignore: []string{"SYN"}}, []string{"12 SYN004 warning"}},
		{"severity", rules.Config{Severity: map[string]rules.Severity{"SYN": rules.Hint, "SYN004": rules.Error}}, []string{"11 SYN001 hint", "12 SYN004 error"}},
		{"per file", rules.Config{PerFileIgnores: map[string][]string{"tr*.py": {"SYN001"}}}, []string{"12 SYN004 warning"}},
		{"per file elsewhere", rules.Config{PerFileIgnores: map[string][]string{"tests/**": {"SYN"}}}, []string{"11 SYN001 warning", "12 SYN004 warning"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, lintLoop(t, body, test.config)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestConfigCheck(t *testing.T) {
	config := rules.Config{
		Select: []string{"SYN", "NOPE"}, Ignore: []string{"ALL"},
		Severity:       map[string]rules.Severity{"QQQ001": rules.Hint},
		PerFileIgnores: map[string][]string{"a[": {"SYN"}, "b": {"ZZZ"}},
	}
	var got []string
	for _, e := range config.Check(catalog.All()) {
		got = append(got, e.Key)
	}
	want := []string{"rules.select", "rules.severity.QQQ001", "rules.per-file-ignores.a[", "rules.per-file-ignores.b"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTorchFromFiles(t *testing.T) {
	v := func(major, minor int) rules.Version { return rules.Version{Major: major, Minor: minor} }
	tests := []struct {
		name  string
		files map[string]string
		want  rules.TorchRange
	}{
		{"nothing", map[string]string{"README.md": "torch==1.0"}, rules.TorchRange{}},
		{"exact", map[string]string{"requirements.txt": "numpy\ntorch==2.5.1\n"}, rules.TorchRange{Min: v(2, 5), Below: v(2, 6)}},
		{"range", map[string]string{"requirements.txt": "torch>=1.13,<2.6"}, rules.TorchRange{Min: v(1, 13), Below: v(2, 6)}},
		{"minimum", map[string]string{"requirements.txt": "torch >= 2.6  # new\n"}, rules.TorchRange{Min: v(2, 6)}},
		{"local version", map[string]string{"requirements.txt": "torch==2.4.0+cu121"}, rules.TorchRange{Min: v(2, 4), Below: v(2, 5)}},
		{"compatible", map[string]string{"requirements.txt": "torch~=2.1.0"}, rules.TorchRange{Min: v(2, 1), Below: v(2, 2)}},
		{"other packages", map[string]string{"requirements.txt": "torchvision==0.15\ntorch-geometric==2.4\npytorch-lightning==2.0"}, rules.TorchRange{}},
		{"no version", map[string]string{"requirements.txt": "torch\n"}, rules.TorchRange{}},
		{"two files widen", map[string]string{"requirements.txt": "torch>=2.6", "requirements-old.txt": "torch<2.0"}, rules.TorchRange{}},
		{"pyproject list", map[string]string{"pyproject.toml": "[project]\ndependencies = [\"numpy\", \"torch>=2.2\"]\n"}, rules.TorchRange{Min: v(2, 2)}},
		{"poetry", map[string]string{"pyproject.toml": "[tool.poetry.dependencies]\ntorch = \"^2.1\"\n"}, rules.TorchRange{Min: v(2, 1), Below: v(3, 0)}},
		{"lock before range", map[string]string{"pyproject.toml": "dependencies = [\"torch>=1.8\"]", "uv.lock": "[[package]]\nname = \"torch\"\nversion = \"2.7.1\"\n"}, rules.TorchRange{Min: v(2, 7), Below: v(2, 8)}},
		{"conda", map[string]string{"environment.yml": "dependencies:\n  - pytorch=2.3\n  - torchvision\n"}, rules.TorchRange{Min: v(2, 3), Below: v(2, 4)}},
		{"setup.py", map[string]string{"setup.py": "setup(install_requires=['torch>=1.10', 'x'])"}, rules.TorchRange{Min: v(1, 10)}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			fsys := fstest.MapFS{}
			for name, text := range test.files {
				fsys[name] = &fstest.MapFile{Data: []byte(text)}
			}
			if diff := cmp.Diff(test.want, rules.TorchFromFiles(fsys, ".")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// priced is a trace with one answer for everything.
type priced struct{ cost rules.Cost }

func (priced) StepNs() int64                       { return 100_000_000 }
func (p priced) Measure(rules.Question) rules.Cost { return p.cost }
func (priced) Loader() rules.LoaderEvidence        { return rules.LoaderUnknown }

func TestVerdicts(t *testing.T) {
	tests := []struct {
		name     string
		cost     rules.Cost
		verdict  rules.Verdict
		severity rules.Severity
	}{
		{"confirmed", rules.Cost{Observed: true, WaitNs: 3_100_000, LowNs: 2_200_000, HighNs: 3_100_000}, rules.Confirmed, rules.Warning},
		{"refuted: waiting without a bubble", rules.Cost{Observed: true, WaitNs: 3_000_000, HighNs: 50_000}, rules.Refuted, rules.Hint},
		{"not observed", rules.Cost{}, rules.NotObserved, rules.Warning},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			file := pyscan.Parse("train.py", fmt.Sprintf(loop, "        a = loss.item()"))
			found := rules.Run(catalog.All(), rules.Target{File: file, Costs: priced{test.cost}}, rules.Config{}).Findings
			if len(found) != 1 || found[0].Verdict != test.verdict || found[0].Severity != test.severity {
				t.Fatalf("got %+v", found)
			}
			if test.verdict == rules.Confirmed && found[0].Cost.Share != 0.022 {
				t.Errorf("share %v, want 0.022", found[0].Cost.Share)
			}
		})
	}
}

func TestApplyFixesKeepsFilesParsable(t *testing.T) {
	file := pyscan.Parse("a.py", "x = f(1)\ny = g(2)\n")
	edit := func(start, end int, text string) rules.TextEdit {
		return rules.TextEdit{File: file, Span: pyscan.Span{Start: start, End: end}, New: text}
	}
	same := edit(7, 7, ", a=1")
	applied := rules.ApplyFixes([]rules.Fix{
		{Edits: []rules.TextEdit{same}},
		{Edits: []rules.TextEdit{same, edit(13, 14, "h")}}, // shares an edit: made once
		{Edits: []rules.TextEdit{edit(13, 14, "k")}},       // overlaps
		{Edits: []rules.TextEdit{edit(0, 1, "1 +* ")}},     // breaks the file
	})
	if diff := cmp.Diff([]bool{true, true, false, false}, applied.Taken); diff != "" {
		t.Errorf("taken (-want +got):\n%s", diff)
	}
	if got, want := applied.Texts[file], "x = f(1, a=1)\ny = h(2)\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestARuleThatPanicsTakesNothingElseDown(t *testing.T) {
	bad := &rules.Rule{ID: "SYN999", Name: "bad", AnyFile: true, Check: func(*rules.Pass) { panic("boom") }}
	file := pyscan.Parse("train.py", fmt.Sprintf(loop, "        a = loss.item()"))
	found := rules.Run(append([]*rules.Rule{bad}, catalog.All()...), rules.Target{File: file}, rules.Config{}).Findings
	if len(found) != 2 || !strings.Contains(found[0].Message, "boom") || found[1].Rule.ID != "SYN001" {
		t.Errorf("got %+v", found)
	}
}

// TestStepMadeByAnEdit: a function that an edit turns into a training step is one in the files that were not edited too.
func TestStepMadeByAnEdit(t *testing.T) {
	file := func(path, body string) *pyscan.File { return pyscan.Parse(path, body) }
	const begun = "def one_step(model, opt, x):\n    loss = model(x.cuda()).mean()\n"
	files := []*pyscan.File{
		file("steps.py", begun),
		file("between.py", "from steps import one_step\n\n\ndef turn(model, opt, x):\n    return one_step(model, opt, x)\n"),
		file("train.py", "import torch\nfrom between import turn\n\n\ndef train(model, opt, loader):\n    for x in loader:\n        turn(model, opt, x)\n        torch.cuda.synchronize()\n"),
	}
	project := rules.NewProject(files)
	count := func() int {
		return len(rules.Run(catalog.All(), rules.Target{File: files[2], Project: project}, rules.Config{}).Findings)
	}
	if n := count(); n != 0 {
		t.Errorf("before the edit: %d findings", n)
	}
	project = project.With(file("steps.py", begun+"    loss.backward()\n    opt.step()\n"))
	if n := count(); n != 1 {
		t.Errorf("after the edit: %d findings, want 1", n)
	}
}

// TestProjectWith: a project follows edits of one file and agrees with one made anew.
func TestProjectWith(t *testing.T) {
	helper := func(body string) *pyscan.File { return pyscan.Parse("metrics.py", "def log(value):\n    "+body+"\n") }
	main := pyscan.Parse("main.py", "from metrics import log\n"+fmt.Sprintf(loop, "        log(loss)"))
	project := rules.NewProject([]*pyscan.File{main, helper("return value")})
	count := func(p *rules.Project, f *pyscan.File) int {
		return len(rules.Run(catalog.All(), rules.Target{File: f, Project: p}, rules.Config{}).Findings)
	}
	if n := count(project, helper("return value")); n != 0 {
		t.Errorf("before the edit: %d findings", n)
	}
	edited := helper("return value.item()")
	if n := count(project, edited); n != 1 {
		t.Errorf("after the edit, in memory: %d findings, want 1", n)
	}
	project = project.With(edited)
	if n := count(project, edited); n != 1 {
		t.Errorf("after With: %d findings, want 1", n)
	}
	project = project.With(pyscan.Parse("main.py", "from metrics import log\n"+fmt.Sprintf(loop, "        pass")))
	if n := count(project, edited); n != 0 {
		t.Errorf("after the caller went: %d findings, want 0", n)
	}
	if n := count(project.Without("main.py"), edited); n != 0 {
		t.Errorf("without the caller: %d findings, want 0", n)
	}
}
