package report_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"stepline/pyscan"
	"stepline/report"
	"stepline/rules"
	"stepline/traceindex"
)

const sampleProgram = "\ufefffor x in loader:\n    loss = model(x)\n    print('损失 😀', loss.item())\n    loss.backward(\n        retain_graph=True)\n"

func sampleRule(id, name string, severity rules.Severity) *rules.Rule {
	return &rules.Rule{ID: id, Name: name, Summary: "a summary of " + name, Severity: severity, Page: "# " + id + "\n\nA page.\n"}
}

// sampleFindings has one finding of each verdict, a place after emoji, a span over two lines, a path that needs escapes.
func sampleFindings() *report.Findings {
	file := pyscan.Parse("src/my train,1.py", sampleProgram)
	span := func(text string) pyscan.Span {
		start := strings.Index(sampleProgram, text)
		return pyscan.Span{Start: start, End: start + len(text)}
	}
	item := sampleRule("SYN001", "item-in-loop", rules.Warning)
	backward := sampleRule("XYZ002", "kept-graph", rules.Info)
	return &report.Findings{
		Files: 2,
		Findings: []rules.Finding{
			{
				Rule: item, File: file, Span: span("loss.item()"), Severity: rules.Warning,
				Message: "`loss.item()` makes the host wait for the GPU: 100% of it, every step\nsecond line",
				Related: []rules.Related{{File: file, Span: span("for x in loader"), Message: "the training loop"}},
				Fixes: []rules.Fix{{Title: "Read `loss` every 100 steps", Safety: rules.Unsafe, Edits: []rules.TextEdit{
					{File: file, Span: span("loss.item()"), New: "loss.detach()"},
				}}},
				Verdict: rules.Confirmed,
				Cost:    rules.Cost{Observed: true, LowNs: 2_200_000, HighNs: 3_100_000, WaitNs: 3_100_000, Share: 0.029, Evidence: "148 waits in 2 steps"},
			},
			{
				Rule: backward, File: file, Span: span("loss.backward(\n        retain_graph=True)"), Severity: rules.Hint,
				Message: "the graph is kept", Verdict: rules.Refuted, Cost: rules.Cost{Observed: true},
			},
			{
				Rule: item, File: file, Span: span("x"), Severity: rules.Error, Message: "never ran", Verdict: rules.NotObserved,
				Fixes: []rules.Fix{{Title: "Delete it", Safety: rules.Safe, Edits: []rules.TextEdit{{File: file, Span: span("x")}}}},
			},
		},
		Warnings: []traceindex.Warning{{Code: "cut-short", Message: "the file ends early"}},
	}
}

func TestCheckFormats(t *testing.T) {
	for _, test := range []struct {
		golden string
		write  func(*bytes.Buffer, *report.Findings) error
	}{
		{"check.txt", func(out *bytes.Buffer, found *report.Findings) error {
			return report.WriteCheckText(out, found, report.CheckView{Width: 80})
		}},
		{"check-60.txt", func(out *bytes.Buffer, found *report.Findings) error {
			return report.WriteCheckText(out, found, report.CheckView{Width: 60})
		}},
		{"check.json", func(out *bytes.Buffer, found *report.Findings) error {
			return report.WriteJSON(out, report.NewCheckDocument(found))
		}},
		{"check.github", func(out *bytes.Buffer, found *report.Findings) error { return report.WriteCheckGitHub(out, found) }},
		{"check.gitlab.json", func(out *bytes.Buffer, found *report.Findings) error { return report.WriteCheckGitLab(out, found) }},
		{"check.sarif", func(out *bytes.Buffer, found *report.Findings) error {
			return report.WriteCheckSARIF(out, found, "1.2.3")
		}},
		{"statistics.txt", func(out *bytes.Buffer, found *report.Findings) error { return report.WriteStatistics(out, found) }},
	} {
		t.Run(test.golden, func(t *testing.T) {
			var out bytes.Buffer
			if err := test.write(&out, sampleFindings()); err != nil {
				t.Fatal(err)
			}
			golden(t, test.golden, out.Bytes())
		})
	}
}

func TestPositionsCountCodePoints(t *testing.T) {
	file := pyscan.Parse("train.py", sampleProgram)
	for _, test := range []struct {
		text string
		want report.Position
	}{
		{"for", report.Position{Line: 1, Column: 1}}, // the byte order mark has no column
		{"loss.item", report.Position{Line: 3, Column: 19}},
		{"retain_graph", report.Position{Line: 5, Column: 9}},
	} {
		if diff := cmp.Diff(test.want, report.LocateInFile(file, strings.Index(sampleProgram, test.text))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.text, diff)
		}
	}
}

func TestSARIFIsValid(t *testing.T) {
	for name, found := range map[string]*report.Findings{"findings": sampleFindings(), "none": {Files: 1}} {
		var out bytes.Buffer
		if err := report.WriteCheckSARIF(&out, found, "1.2.3"); err != nil {
			t.Fatal(err)
		}
		document, err := sarif.FromBytes(out.Bytes())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := document.Validate(); err != nil {
			t.Errorf("%s: not SARIF 2.1.0: %v", name, err)
		}
		if got := len(document.Runs[0].Results); got != len(found.Findings) {
			t.Errorf("%s: %d results for %d findings", name, got, len(found.Findings))
		}
	}
}

// TestDocumentsFitTheirSchemas validates what we print against docs/schema, and shows that the schemas refuse something.
func TestDocumentsFitTheirSchemas(t *testing.T) {
	costs := sampleCosts()
	for _, test := range []struct {
		schema   string
		document any
		// spoil breaks the document in a way the schema must notice.
		spoil func(map[string]any)
	}{
		{"lines", report.NewLinesDocument(costs, costs.Lines), func(d map[string]any) { d["lines"].([]any)[0].(map[string]any)["line"] = 0 }},
		{"lines", report.NewLinesDocument(&traceindex.Costs{}, nil), func(d map[string]any) { delete(d, "unattributed") }},
		{"check", report.NewCheckDocument(sampleFindings()), func(d map[string]any) { delete(d["findings"].([]any)[0].(map[string]any), "verdict") }},
		{"check", report.NewCheckDocument(&report.Findings{}), func(d map[string]any) { d["findings"] = nil }},
	} {
		schema, err := jsonschema.NewCompiler().Compile(filepath.Join("..", "docs", "schema", test.schema+".schema.json"))
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := report.WriteJSON(&out, test.document); err != nil {
			t.Fatal(err)
		}
		var document map[string]any
		if err := json.Unmarshal(out.Bytes(), &document); err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(document); err != nil {
			t.Errorf("%s: %v", test.schema, err)
		}
		test.spoil(document)
		if schema.Validate(document) == nil {
			t.Errorf("%s: the schema accepts a spoilt document", test.schema)
		}
	}
}

// TestPatchAppliesWithGit checks the patch with the tool that users give it to.
func TestPatchAppliesWithGit(t *testing.T) {
	for name, texts := range map[string][2]string{
		"change":           {"a\nb\nc\nd\ne\nf\ng\nh\ni\n", "a\nb\nC\nd\ne\nf\ng\nh\ni\nj\n"},
		"no final newline": {"a\nb", "a\nc"},
		"newline added":    {"a\nb", "a\nb\n"},
		"crlf":             {"a\r\nb\r\nc\r\n", "a\r\nX\r\nc\r\n"},
		"emptied":          {"a\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			path := filepath.Join(folder, "train.py")
			if err := os.WriteFile(path, []byte(texts[0]), 0o644); err != nil {
				t.Fatal(err)
			}
			var patch bytes.Buffer
			if err := report.WritePatch(&patch, "train.py", texts[0], texts[1]); err != nil {
				t.Fatal(err)
			}
			apply := exec.Command("git", "apply", "-")
			apply.Dir, apply.Stdin = folder, bytes.NewReader(patch.Bytes())
			if output, err := apply.CombinedOutput(); err != nil {
				t.Fatalf("git apply: %v: %s\n%s", err, output, patch.String())
			}
			got, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != texts[1] {
				t.Errorf("patched to %q, want %q\n%s", got, texts[1], patch.String())
			}
		})
	}
	var patch bytes.Buffer
	if err := report.WritePatch(&patch, "same.py", "a\n", "a\n"); err != nil || patch.Len() > 0 {
		t.Errorf("no change must give no patch, got %q, %v", patch.String(), err)
	}
}
