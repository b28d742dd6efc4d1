package attribute

import (
	"archive/zip"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"stepline/pyscan"
	"stepline/traceindex"
)

// recording is one workload's frames as testdata/calibration/record.py writes them.
type recording struct {
	Python string
	Frames []struct {
		File, Name, QualName string
		Line, N              int
		Tokens               [][]any // event name, line, names below
	}
}

// tally counts calls by label.
type tally struct{ right, wrong [4]int }

func (t *tally) add(c traceindex.Confidence, right bool, n int) {
	if right {
		t.right[c] += n
	} else {
		t.wrong[c] += n
	}
}

func (t *tally) merge(o *tally) {
	for c := range t.right {
		t.right[c] += o.right[c]
		t.wrong[c] += o.wrong[c]
	}
}

func (t *tally) rate(c traceindex.Confidence) float64 {
	n := t.right[c] + t.wrong[c]
	if n == 0 {
		return 1
	}
	return float64(t.right[c]) / float64(n)
}

func (t *tally) all() (right, n int) {
	for c := range t.right {
		right += t.right[c]
		n += t.right[c] + t.wrong[c]
	}
	return right, n
}

func (t *tally) String() string {
	right, n := t.all()
	s := fmt.Sprintf("%5.2f %% of %d right;", 100*float64(right)/float64(max(1, n)), n)
	for _, c := range []traceindex.Confidence{traceindex.ConfidenceExact, traceindex.ConfidenceLikely, traceindex.ConfidenceAmbiguous, traceindex.ConfidenceFunction} {
		s += fmt.Sprintf("  %s %d (%.2f %%)", c, t.right[c]+t.wrong[c], 100*t.rate(c))
	}
	return s
}

// TestCalibration aligns recorded standard-library calls and checks that each label is right as often as it promises.
func TestCalibration(t *testing.T) {
	for _, python := range []string{"3.12", "3.9"} {
		t.Run(python, func(t *testing.T) {
			total := calibrate(t, filepath.Join("testdata", "calibration", python))
			t.Logf("Python %s: %s", python, total)
			if _, n := total.all(); n < 10_000 {
				t.Errorf("only %d calls were compared", n)
			}
			if r := total.rate(traceindex.ConfidenceExact); r < 0.995 {
				t.Errorf("exact is right in %.2f %% of calls, promised 99.5 %%", 100*r)
			}
			if r := total.rate(traceindex.ConfidenceLikely); r < 0.90 {
				t.Errorf("likely is right in %.2f %% of calls, promised 90 %%", 100*r)
			}
		})
	}
}

func calibrate(t *testing.T, folder string) *tally {
	t.Helper()
	sources := readSources(t, filepath.Join(folder, "sources.zip"))
	names, err := filepath.Glob(filepath.Join(folder, "*.json.gz"))
	if err != nil || len(names) < 15 {
		t.Fatalf("%s: %d recordings, %v", folder, len(names), err)
	}
	sort.Strings(names)
	total := &tally{}
	for _, name := range names {
		one := calibrateWorkload(t, readRecording(t, name), sources)
		if testing.Verbose() {
			t.Logf("%-14s %s", strings.TrimSuffix(filepath.Base(name), ".json.gz"), one)
		}
		total.merge(one)
	}
	return total
}

func calibrateWorkload(t *testing.T, r *recording, sources map[string]*moduleFacts) *tally {
	options := pyscan.FlowOptions{ComprehensionScopes: r.Python == "3.9" || r.Python < "3.12"}
	sum := &tally{}
	aligners := map[*pyscan.Function]*aligner{}
	for _, frame := range r.Frames {
		module := sources[frame.File]
		fn, resumed := findFunction(module.file, frame.Name, frame.QualName, frame.Line)
		if fn == nil {
			sum.add(traceindex.ConfidenceFunction, false, len(frame.Tokens))
			continue
		}
		a := aligners[fn]
		if a == nil {
			a = newAligner(newGraph(module, fn, options))
			aligners[fn] = a
		}
		var tokens []token
		var truth []int
		var keys []string
		for _, raw := range frame.Tokens {
			tok := parseName(raw[0].(string))
			if name := raw[0].(string); strings.HasPrefix(name, "aten::") {
				tok = opToken(name)
			}
			if len(raw) > 2 && !a.g.names[tok.name] {
				for _, inner := range raw[2].([]any) {
					tok.inside = append(tok.inside, inner.(string))
				}
			}
			tokens = append(tokens, tok)
			truth = append(truth, module.file.LineOfStatement(int(raw[1].(float64))))
			keys = append(keys, string(tok.appendKey(nil)))
		}
		if !a.fits(len(tokens)) {
			sum.add(traceindex.ConfidenceFunction, false, len(tokens))
			continue
		}
		result := a.align(tokens, keys, a.g.startsAt(frame.Line, resumed, module.file), false)
		for i, p := range result.tokens {
			if r.Python == "3.9" && tokens[i].name == "__exit__" {
				continue // before 3.10 CPython reports the body's last line for a with's exit; stepline tells the with's
			}
			right := int(p.line) == truth[i]
			sum.add(p.confidence(), right, 1)
			if (!right || p.confidence() != traceindex.ConfidenceExact) && os.Getenv("STEPLINE_SHOW") != "" {
				site := ""
				if p.gate >= 0 {
					site = fmt.Sprint(a.g.gates[p.gate].kind, a.g.gates[p.gate].name)
				}
				t.Logf("%s:%d %s token %d/%d %q told %d truth %d margin %d %v site %s others %v total %d", frame.File, frame.Line, frame.Name, i, len(tokens), frame.Tokens[i][0], p.line, truth[i], p.margin, p.confidence(), site, p.others, result.total)
			}
		}
	}
	return sum
}

func readRecording(t *testing.T, name string) *recording {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	r := &recording{}
	if err := json.NewDecoder(z).Decode(r); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return r
}

func readSources(t *testing.T, name string) map[string]*moduleFacts {
	t.Helper()
	z, err := zip.OpenReader(name)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	modules := map[string]*moduleFacts{}
	for _, entry := range z.File {
		r, err := entry.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		modules[entry.Name] = newModuleFacts(pyscan.Parse(entry.Name, string(text)))
	}
	return modules
}
