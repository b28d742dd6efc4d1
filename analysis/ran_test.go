package analysis

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"stepline/pyscan"
	"stepline/traceindex"
	"stepline/traceindex/attribute"
	"stepline/traceindex/recorder"
)

const labTrace = "vit.trace.json.gz"

// labFolder is the lab's recording in a folder of its own, its sources as given (name → text; "" leaves one out), with what was
// recorded of them.
func labFolder(t *testing.T, sources map[string]string, recorded func(*recorder.Sources)) string {
	t.Helper()
	const lab = "../testdata/traces/lab_vit"
	root := t.TempDir()
	put := func(name string, data []byte) {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"vit.py", "wrappers.py", labTrace, "vit.trace.callers.json.gz", "vit.trace.sources.json.gz"} {
		if _, own := sources[name]; own {
			continue
		}
		data, err := os.ReadFile(filepath.Join(lab, name))
		if err != nil {
			t.Fatal(err)
		}
		put(name, data)
	}
	for name, text := range sources {
		if text != "" {
			put(name, []byte(text))
		}
	}
	if recorded != nil {
		sidecar := filepath.Join(root, "vit.trace.sources.json.gz")
		f, err := os.Open(sidecar)
		if err != nil {
			t.Fatal(err)
		}
		s, err := recorder.ReadSources(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		recorded(s)
		writeSources(t, sidecar, s)
	}
	return root
}

func writeSources(t *testing.T, path string, s *recorder.Sources) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(f)
	if err := json.NewEncoder(z).Encode(s); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// costsOf is what each line of a file costs, exact ones by their statement's text.
func costsOf(t *testing.T, root, file string) (l *Loaded, byLine map[int]traceindex.LineCost) {
	t.Helper()
	l = loadLab(t, root)
	byLine = map[int]traceindex.LineCost{}
	for _, line := range l.Costs.Lines {
		if line.File == file {
			byLine[line.Line] = line
		}
	}
	return l, byLine
}

// TestLinesFollowEdits edits the recorded script in many ways: each line's time is on the same statement wherever it went, or on its
// function where that changed inside, and on no other line.
func TestLinesFollowEdits(t *testing.T) {
	data, err := os.ReadFile("../testdata/traces/lab_vit/vit.py")
	if err != nil {
		t.Fatal(err)
	}
	script := string(data)
	attention := script[strings.Index(script, "def attention("):strings.Index(script, "@with_defaults(heads=6)\nclass SelfAttention")]
	const changed = "    return scores.softmax(-1) @ v\n"
	for _, test := range []struct {
		name, file, text string
		stale            bool              // attention() changed inside
		renamed          map[string]string // functions
		withoutText      bool
	}{
		{name: "as it ran", file: "vit.py", text: script},
		{name: "lines above", file: "vit.py", text: "# one\n# two\n\n" + script},
		{name: "comments and blank lines inside", file: "vit.py", text: strings.Replace(script, changed, "\n    # why\n"+changed, 1)},
		{name: "function moved", file: "vit.py", text: strings.Replace(script, attention, "", 1) + "\n\n" + attention},
		{name: "function renamed", file: "vit.py", text: strings.Replace(script, "def split(self, x):", "def cut(self, x):", 1), renamed: map[string]string{"SelfAttention.split": "SelfAttention.cut"}},
		{name: "edited inside", file: "vit.py", text: strings.Replace(script, changed, "    scores = scores.softmax(-1)\n    return scores @ v\n", 1), stale: true},
		{name: "CRLF", file: "vit.py", text: strings.ReplaceAll(script, "\n", "\r\n")},
		{name: "CRLF, edited above", file: "vit.py", text: "# one\r\n" + strings.ReplaceAll(script, "\n", "\r\n")},
		{name: "file renamed", file: "transformer.py", text: script},
		{name: "file moved and edited above", file: "models/vision/vit.py", text: "# one\n" + script},
		{name: "file renamed and edited inside", file: "transformer.py", text: strings.Replace(script, changed, "    return scores.softmax(dim=-1) @ v\n", 1), stale: true},
		{name: "hashes alone", file: "vit.py", text: script, withoutText: true},
		{name: "hashes alone, lines above", file: "vit.py", text: "# one\n# two\n" + script, withoutText: true},
		{name: "hashes alone, edited inside", file: "vit.py", text: strings.Replace(script, changed, "    return scores.softmax(dim=-1) @ v\n", 1), withoutText: true, stale: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, before := costsOf(t, labFolder(t, nil, nil), "vit.py")
			var recorded func(*recorder.Sources)
			if test.withoutText {
				recorded = func(s *recorder.Sources) {
					for i := range s.Files {
						s.Files[i].Text = ""
					}
				}
			}
			sources := map[string]string{"vit.py": ""}
			sources[test.file] = test.text
			l, after := costsOf(t, labFolder(t, sources, recorded), test.file)
			old, now := splitLines(script), splitLines(test.text)
			var was, is, staleNs int64
			places := map[int]bool{}
			for line, cost := range before {
				was += cost.GPUNs()
				if cost.GPUNs() == 0 {
					continue
				}
				if cost.Function == "attention" && test.stale {
					staleNs += cost.GPUNs()
					continue
				}
				at := sameLine(old, now, line)
				places[at] = true
				got, function := after[at], cost.Function
				if renamed := test.renamed[function]; renamed != "" {
					function = renamed
				}
				if got.GPUNs() != cost.GPUNs() || got.Function != function || got.Confidence != cost.Confidence {
					if test.withoutText && got.Confidence == traceindex.ConfidenceFunction || test.withoutText && cost.Function == "<module>" {
						continue // told with less, never wrongly
					}
					t.Errorf("line %d (%s, %d ns, %s) should be line %d, which has %s, %d ns, %s", line, cost.Function, cost.GPUNs(), cost.Confidence, at, got.Function, got.GPUNs(), got.Confidence)
				}
			}
			for line, cost := range after {
				is += cost.GPUNs()
				if cost.GPUNs() == 0 || places[line] {
					continue
				}
				if cost.Confidence != traceindex.ConfidenceFunction || !strings.HasPrefix(strings.TrimSpace(now[line-1]), "def ") && cost.Function != "<module>" {
					t.Errorf("line %d has %d ns, %s", line, cost.GPUNs(), cost.Confidence)
				}
			}
			if is != was && !test.withoutText {
				t.Errorf("%d ns on lines, %d before", is, was)
			}
			if test.stale && !test.withoutText {
				def := 1 + slices.IndexFunc(now, func(s string) bool { return strings.HasPrefix(s, "def attention(") })
				if cost := after[def]; cost.GPUNs() != staleNs || cost.Confidence != traceindex.ConfidenceFunction || staleNs == 0 {
					t.Errorf("attention as a whole has %d of %d ns, %s", cost.GPUNs(), staleNs, cost.Confidence)
				}
			}
			if test.stale != slices.ContainsFunc(l.Attribution.Warnings, func(w traceindex.Warning) bool {
				return w.Code == "changed-since-recording" && strings.Contains(w.Message, "attention")
			}) && !test.withoutText {
				t.Errorf("warnings %v", l.Attribution.Warnings)
			}
			if l.Sources[test.file] != test.text {
				t.Error("the sources are not those of now")
			}
		})
	}
}

// sameLine is the line of the newer text with a line's text: the n-th of its like where it stands several times.
func sameLine(old, now []string, line int) int {
	n := 0
	for _, text := range old[:line] {
		if text == old[line-1] {
			n++
		}
	}
	for i, text := range now {
		if text == old[line-1] {
			if n--; n == 0 {
				return i + 1
			}
		}
	}
	return 0
}

// TestTwoFilesOfOneName: recorded files are told apart by their paths, and where the trace calls both by one name, by their functions.
func TestTwoFilesOfOneName(t *testing.T) {
	const first, second = "def load():\n    return 1\n\n\ndef step(x):\n    return x + 1\n", "import torch\n\n\ndef step(x):\n    return x * 2\n\n\ndef save():\n    return 3\n"
	w := besideWorkspace(t, map[string]string{"a/train.py": "# edited\n" + first, "b/train.py": second + "\n\ndef more():\n    pass\n"})
	trace := filepath.Join(t.TempDir(), "run.trace.json.gz")
	file := func(path, text string, names ...string) recorder.SourceFile {
		return recorder.SourceFile{Path: path, Recorded: names, Text: text, LineHashes: lineHashes(text), SHA256: fmt.Sprint(len(text))}
	}
	for _, test := range []struct {
		name           string
		a, b           recorder.SourceFile
		ask            string
		functions      []attribute.RecordedFunction
		want, contents string
	}{
		{"own names", file("a/train.py", first, "a/train.py"), file("b/train.py", second, "b/train.py"), "b/train.py", nil, "b/train.py", second},
		{"one name, first", file("a/train.py", first, "train.py"), file("b/train.py", second, "train.py"), "train.py", []attribute.RecordedFunction{{Name: "step", Line: 5}}, "a/train.py", first},
		{"one name, second", file("a/train.py", first, "train.py"), file("b/train.py", second, "train.py"), "train.py", []attribute.RecordedFunction{{Name: "step", Line: 4}, {Name: "save", Line: 8}}, "b/train.py", second},
		{"nothing tells", file("a/train.py", first, "train.py"), file("b/train.py", second, "train.py"), "train.py", nil, "", ""},
		{"recorded elsewhere", file("old/a/train.py", first, "old/a/train.py"), file("old/b/train.py", second, "old/b/train.py"), "old/b/train.py", nil, "b/train.py", second},
	} {
		t.Run(test.name, func(t *testing.T) {
			writeSources(t, strings.TrimSuffix(trace, ".json.gz")+".sources.json.gz", &recorder.Sources{Schema: 1, Files: []recorder.SourceFile{test.a, test.b}})
			sources, err := w.sources(nil)
			if err != nil {
				t.Fatal(err)
			}
			defer sources.Close()
			run := &traceindex.Run{Ranks: []*traceindex.Index{{Meta: traceindex.Meta{File: trace}}}}
			ran, err := w.newRanSources(context.Background(), run, sources)
			if err != nil || len(run.Warnings) > 0 {
				t.Fatal(err, run.Warnings)
			}
			got := ran.Resolve(attribute.RecordedFile{Path: test.ask, Functions: test.functions})
			if test.want == "" {
				if got.File != nil || len(got.Candidates) != 2 {
					t.Errorf("%+v", got)
				}
				return
			}
			if got.File == nil || got.File.Path != test.want || got.File.Text != test.contents {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestUnusableSources: recorded sources that cannot be read are a warning, and the workspace's stand in.
func TestUnusableSources(t *testing.T) {
	root := labFolder(t, map[string]string{"vit.trace.sources.json.gz": "no sources"}, nil)
	l, lines := costsOf(t, root, "vit.py")
	if len(lines) == 0 || !slices.ContainsFunc(l.Warnings(), func(w traceindex.Warning) bool { return w.Code == "recorded-sources" }) {
		t.Errorf("%d lines, warnings %v", len(lines), l.Warnings())
	}
}

// TestLineHashes: they are the recorder's, whatever the line endings.
func TestLineHashes(t *testing.T) {
	s := map[string][]string{}
	for _, text := range []string{"a\nb\n\nc", "a\r\nb\r\n\r\nc\r\n", "a\rb\r\rc"} {
		s[text] = lineHashes(text)
		if len(s[text]) != 4 || !slices.Equal(s[text], s["a\nb\n\nc"]) {
			t.Errorf("%q: %v", text, s[text])
		}
	}
	f, err := os.Open("../testdata/traces/lab_vit/vit.trace.sources.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	recorded, err := recorder.ReadSources(f)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range recorded.Files {
		if got := lineHashes(file.Text); !slices.Equal(got, file.LineHashes) {
			t.Errorf("%s: %d hashes, %d recorded", file.Path, len(got), len(file.LineHashes))
		}
		if pyscan.Parse(file.Path, file.Text).LineCount() == 0 {
			t.Errorf("%s is empty", file.Path)
		}
	}
}
