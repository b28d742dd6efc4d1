// Package rulestest runs a rule over its fixtures and checks what it finds and mends.
//
// A fixture is a Python file in the rule's testdata folder, or a folder of them that is linted as one project. Lines that
// must be reported end in a comment:
//
//	x = loss.item()  # want
//	x = loss.item()  # want "text the message must hold"
//	x = loss.item()  # want hint "text"            (another severity than the rule's)
//	x, y = a.item(), b.item()  # want "a.item", "b.item"
//
// Findings and expectations match one to one: an unexpected finding fails. A comment on a line of its own speaks for the
// next line. Directives at the top of a fixture: `# torch: >=2.6`, `# loader: single-process` (a trace proved it).
//
// Where a rule has fixes, applying them all gives testdata/NAME.py.fixed (-update writes it), and each is checked alone:
// the result parses, the finding is gone, no finding of the rule is new, and doing it again changes nothing.
package rulestest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stepline/pyscan"
	"stepline/rules"
)

var update = flag.Bool("update", false, "write the golden files of fixes")

// Sections are the headings every rule's page has, in order.
var Sections = []string{"What it does", "Why it costs", "Example", "Instead", "When it stays silent", "Fix safety", "What a trace shows", "References"}

// Run checks a rule's page and every fixture in its folder's testdata.
func Run(t *testing.T, rule *rules.Rule, folder string) {
	t.Helper()
	checkPage(t, rule)
	testdata := filepath.Join(folder, "testdata")
	entries, err := os.ReadDir(testdata)
	if err != nil {
		t.Fatal(err)
	}
	positives := 0
	for _, e := range entries {
		if e.IsDir() || strings.HasSuffix(e.Name(), ".py") {
			t.Run(e.Name(), func(t *testing.T) { positives += runFixture(t, rule, filepath.Join(testdata, e.Name())) })
		}
	}
	if positives == 0 {
		t.Errorf("the fixtures of %s expect no finding at all", rule.ID)
	}
}

func checkPage(t *testing.T, rule *rules.Rule) {
	t.Helper()
	heading := fmt.Sprintf("# %s %s\n", rule.ID, rule.Name)
	if !strings.HasPrefix(rule.Page, heading) {
		t.Errorf("doc.md must begin with %q", heading)
	}
	var got []string
	inCode := false
	for line := range strings.Lines(rule.Page) {
		if strings.HasPrefix(line, "```") {
			inCode = !inCode
		}
		if title, ok := strings.CutPrefix(line, "## "); ok && !inCode {
			got = append(got, strings.TrimSpace(title))
		}
	}
	if diff := cmp.Diff(Sections, got); diff != "" {
		t.Errorf("sections of doc.md (-want +got):\n%s", diff)
	}
	if strings.Contains(rule.Page, "TODO") || regexp.MustCompile(`(?m)^## .*\n+(## |\z)`).MatchString(rule.Page) {
		t.Errorf("doc.md has an empty section")
	}
	if rule.Summary == "" || strings.HasSuffix(rule.Summary, ".") {
		t.Errorf("Summary %q: one sentence without a full stop", rule.Summary)
	}
}

// Fixture is a set of files linted as one project.
type Fixture struct {
	Files  []*pyscan.File
	Torch  rules.TorchRange
	Loader rules.LoaderEvidence
}

// Load reads a fixture file or folder.
func Load(path string) (*Fixture, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	paths := []string{path}
	if info.IsDir() {
		paths = nil
		err := filepath.WalkDir(path, func(p string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() && strings.HasSuffix(p, ".py") {
				paths = append(paths, p)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	f := &Fixture{}
	for _, p := range paths {
		text, err := os.ReadFile(p)
		if err != nil {
			return nil, err
		}
		base := filepath.Dir(path)
		if info.IsDir() {
			base = path
		}
		rel, err := filepath.Rel(base, p)
		if err != nil {
			return nil, err
		}
		f.Files = append(f.Files, pyscan.Parse(filepath.ToSlash(rel), string(text)))
		if err := f.directives(string(text)); err != nil {
			return nil, fmt.Errorf("%s: %w", p, err)
		}
	}
	return f, nil
}

var directive = regexp.MustCompile(`(?m)^# (torch|loader): *(.*)$`)

func (f *Fixture) directives(text string) error {
	for _, m := range directive.FindAllStringSubmatch(text, -1) {
		switch m[1] {
		case "torch":
			r, err := rules.ParseTorchVersion(m[2])
			if err != nil {
				return err
			}
			f.Torch = r
		case "loader":
			kinds := map[string]rules.LoaderEvidence{"single-process": rules.LoaderSingleProcess, "workers": rules.LoaderWorkers, "mixed": rules.LoaderMixed}
			kind, ok := kinds[strings.TrimSpace(m[2])]
			if !ok {
				return fmt.Errorf("unknown loader evidence %q", m[2])
			}
			f.Loader = kind
		}
	}
	return nil
}

// Lint runs rules over every file of the fixture. Severities are the rules' own: nothing is priced.
func (f *Fixture) Lint(list ...*rules.Rule) []rules.Finding {
	project := rules.NewProject(f.Files)
	var out []rules.Finding
	for _, file := range f.Files {
		target := rules.Target{File: file, Project: project}
		if f.Loader != rules.LoaderUnknown {
			target.Costs = loaderOnly(f.Loader)
		}
		out = append(out, rules.Run(list, target, rules.Config{TargetTorch: f.Torch}).Findings...)
	}
	rules.SortFindings(out)
	return out
}

// with is the fixture with other texts for some files.
func (f *Fixture) with(texts map[*pyscan.File]string) *Fixture {
	out := &Fixture{Torch: f.Torch, Loader: f.Loader}
	for _, file := range f.Files {
		if text, ok := texts[file]; ok {
			file = pyscan.Parse(file.Path, text)
		}
		out.Files = append(out.Files, file)
	}
	return out
}

// loaderOnly is a trace that proves the loaders' kind and saw nothing else.
type loaderOnly rules.LoaderEvidence

func (loaderOnly) StepNs() int64                     { return 0 }
func (loaderOnly) Measure(rules.Question) rules.Cost { return rules.Cost{} }
func (l loaderOnly) Loader() rules.LoaderEvidence    { return rules.LoaderEvidence(l) }

type expectation struct {
	file     string
	line     int
	severity string
	text     string
}

var (
	wantComment = regexp.MustCompile(`#\s*want\b(.*)$`)
	wantItem    = regexp.MustCompile(`^\s*(error|warning|info|hint)?\s*(?:"([^"]*)")?\s*(,|$)`)
)

func expectations(file *pyscan.File, rule *rules.Rule) ([]expectation, error) {
	var out []expectation
	lineNumber := 0
	for line := range strings.Lines(file.Text) {
		lineNumber++
		line = strings.TrimRight(line, "\r\n")
		m := wantComment.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		at := lineNumber
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			at++
		}
		rest := m[1]
		for {
			item := wantItem.FindStringSubmatch(rest)
			if item == nil {
				return nil, fmt.Errorf("%s:%d: cannot read %q", file.Path, lineNumber, rest)
			}
			e := expectation{file: file.Path, line: at, severity: item[1], text: item[2]}
			if e.severity == "" {
				e.severity = rule.Severity.String()
			}
			out = append(out, e)
			rest = rest[len(item[0]):]
			if item[3] == "" {
				break
			}
		}
	}
	return out, nil
}

func runFixture(t *testing.T, rule *rules.Rule, path string) int {
	fixture, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	var want []expectation
	for _, file := range fixture.Files {
		if len(file.SyntaxErrors) > 0 {
			t.Errorf("%s does not parse: %v", file.Path, file.SyntaxErrors)
		}
		list, err := expectations(file, rule)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, list...)
	}
	findings := fixture.Lint(rule)
	match(t, want, findings)
	checkMessages(t, findings)
	checkFixes(t, rule, fixture, findings, path)
	return len(want)
}

func match(t *testing.T, want []expectation, findings []rules.Finding) {
	t.Helper()
	matched := make([]bool, len(findings))
	for _, e := range want {
		found := slices.IndexFunc(findings, func(f rules.Finding) bool {
			return f.File.Path == e.file && f.File.Lines().Line(f.Span.Start) == e.line && f.Severity.String() == e.severity &&
				strings.Contains(f.Message, e.text) && !matched[slices.IndexFunc(findings, func(g rules.Finding) bool { return same(f, g) })]
		})
		if found < 0 {
			t.Errorf("%s:%d: expected %s %q: not found", e.file, e.line, e.severity, e.text)
			continue
		}
		matched[found] = true
	}
	for i, f := range findings {
		if !matched[i] {
			t.Errorf("%s:%d: unexpected %s: %s", f.File.Path, f.File.Lines().Line(f.Span.Start), f.Severity, f.Message)
		}
	}
}

func same(f, g rules.Finding) bool {
	return f.File == g.File && f.Span == g.Span && f.Message == g.Message
}

func checkMessages(t *testing.T, findings []rules.Finding) {
	t.Helper()
	for _, f := range findings {
		for _, claim := range FalseClaims {
			if claim.MatchString(f.Message) {
				t.Errorf("message repeats a false claim (%s): %s", claim, f.Message)
			}
		}
		if f.Message == "" || strings.HasSuffix(f.Message, ".") || strings.Contains(f.Message, "%!") {
			t.Errorf("message %q: plain, without a full stop, well formatted", f.Message)
		}
	}
}

func checkFixes(t *testing.T, rule *rules.Rule, fixture *Fixture, findings []rules.Finding, path string) {
	t.Helper()
	for _, f := range findings {
		for _, fix := range f.Fixes {
			if fix.Safety > rule.Fix && rule.Fix != rules.NoFix || fix.Safety == rules.NoFix {
				t.Errorf("fix %q is %s; the rule declares %s", fix.Title, fix.Safety, rule.Fix)
			}
			CheckFix(t, rule, fixture, f, fix)
		}
	}
	fixed, any := FixAll(fixture, func(f *Fixture) []rules.Finding { return f.Lint(rule) }, rules.Unsafe)
	if !any {
		return
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range fixed.Files {
		golden := path + ".fixed"
		if info.IsDir() {
			golden = filepath.Join(path, filepath.FromSlash(file.Path)+".fixed")
		}
		compareGolden(t, golden, file.Text, fixture, file.Path)
	}
}

func compareGolden(t *testing.T, golden, got string, before *Fixture, path string) {
	t.Helper()
	for _, file := range before.Files {
		if file.Path == path && file.Text == got {
			return
		}
	}
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatalf("%v (run the test with -update to write it)", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", golden, diff)
	}
}

// CheckFix applies one fix alone: the files still parse, the rule finds less than before, and the fix does not come back.
func CheckFix(t *testing.T, rule *rules.Rule, fixture *Fixture, f rules.Finding, fix rules.Fix) {
	t.Helper()
	where := fmt.Sprintf("%s:%d: fix %q", f.File.Path, f.File.Lines().Line(f.Span.Start), fix.Title)
	applied := rules.ApplyFixes([]rules.Fix{fix})
	if !applied.Taken[0] {
		t.Errorf("%s: cannot be applied alone (its edits overlap, or the file no longer parses)", where)
		return
	}
	before := atLeast(fixture.Lint(rule), f.Severity)
	after := fixture.with(applied.Texts)
	findings := atLeast(after.Lint(rule), f.Severity)
	if len(findings) >= len(before) {
		t.Errorf("%s: %d findings before, %d after; expected fewer", where, len(before), len(findings))
		for _, g := range findings {
			t.Logf("after: %s:%d: %s", g.File.Path, g.File.Lines().Line(g.Span.Start), g.Message)
		}
	}
}

// atLeast are the findings of a severity or louder: a fix may leave a quieter piece of advice behind.
func atLeast(findings []rules.Finding, severity rules.Severity) []rules.Finding {
	return slices.DeleteFunc(findings, func(f rules.Finding) bool { return f.Severity < severity })
}

// FixAll applies the preferred fixes of at least the given safety until nothing changes, at most ten rounds.
func FixAll(fixture *Fixture, lint func(*Fixture) []rules.Finding, least rules.Safety) (*Fixture, bool) {
	any := false
	for range 10 {
		var fixes []rules.Fix
		for _, f := range lint(fixture) {
			if fix := f.Fix(); fix != nil && fix.Safety >= least {
				fixes = append(fixes, *fix)
			}
		}
		if len(fixes) == 0 {
			break
		}
		applied := rules.ApplyFixes(fixes)
		if len(applied.Texts) == 0 {
			break
		}
		fixture, any = fixture.with(applied.Texts), true
	}
	return fixture, any
}
