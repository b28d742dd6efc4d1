package lsp

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// trainingSource is a file of at least the given lines made of real training code.
func trainingSource(t testing.TB, lines int) string {
	t.Helper()
	gpt := readText(t, filepath.Join("..", "testdata", "traces", "gpt", "gpt.py"))
	var b strings.Builder
	b.WriteString(gpt)
	for i := 0; strings.Count(b.String(), "\n") < lines; i++ {
		b.WriteString("\n" + named(gpt, i))
	}
	return b.String()
}

// named is a source with its classes and functions called anew, so that copies are as many programs.
func named(source string, i int) string {
	return definition.ReplaceAllStringFunc(source, func(word string) string { return fmt.Sprintf("%s_%d", word, i) })
}

var definition = regexp.MustCompile(`\b(CausalSelfAttention|FlashAttention|MLP|Layer|GPT|get_batch|grad_norm|train)\b`)

// waitPublished waits for the push of a version, on the real clock.
func (c *fakeClient) waitPublished(uri string, version int) {
	for {
		c.mu.Lock()
		raw := c.diags[uri]
		c.mu.Unlock()
		var p struct{ Version int }
		if raw != nil && json.Unmarshal(raw, &p) == nil && p.Version >= version {
			return
		}
		select {
		case <-c.pushed:
		case <-time.After(30 * time.Second):
			c.t.Fatal("no diagnostics for half a minute")
		}
	}
}

func quantile(list []time.Duration, q float64) float64 {
	slices.Sort(list)
	return list[min(len(list)-1, int(q*float64(len(list))))].Seconds() * 1e3
}

// BenchmarkSession replays an editing session: keystrokes in a 5,000-line file of a 700-file workspace with a trace loaded
// (STEPLINE_BENCH_TRACE, else the small GPT one), and asks what editors ask after each tenth.
func BenchmarkSession(b *testing.B) {
	dir := b.TempDir()
	source := trainingSource(b, 5000)
	small := readText(b, filepath.Join("..", "testdata", "traces", "gpt", "gpt.py"))
	for i := range 700 {
		write(b, filepath.Join(dir, "pkg", fmt.Sprintf("m%d", i%20), fmt.Sprintf("f%d.py", i)), named(small, i))
	}
	write(b, filepath.Join(dir, "gpt.py"), source)
	trace := os.Getenv("STEPLINE_BENCH_TRACE")
	if trace == "" {
		trace = filepath.Join("..", "testdata", "traces", "gpt", "trace.json.gz")
	}
	trace, err := filepath.Abs(trace)
	if err != nil {
		b.Fatal(err)
	}
	uri := pathURI(filepath.Join(dir, "gpt.py"))
	c := startClient(b, Options{NoWatch: true})
	began := time.Now()
	c.initialize(dir, fullCapabilities(), object{"autoDiscover": false})
	started := time.Since(began)
	c.open(uri, source)
	c.waitPublished(uri, 1)
	opened := time.Since(began)
	_, loading := c.begin("workspace/executeCommand", object{"command": "stepline.loadTrace", "arguments": []string{trace}})
	var whileLoading []time.Duration
	doc := object{"uri": uri}
	for done := false; !done; {
		t := time.Now()
		c.must("textDocument/hover", object{"textDocument": doc, "position": at(62, 10)}, nil)
		whileLoading = append(whileLoading, time.Since(t))
		select {
		case m := <-loading:
			if m.Error != nil {
				b.Fatal(m.Error)
			}
			done = true
		case <-time.After(5 * time.Millisecond):
		}
	}
	loaded := time.Since(began)
	c.must("textDocument/hover", object{"textDocument": doc, "position": at(62, 10)}, nil)
	var keys, hovers, hints, lenses []time.Duration
	timed := func(into *[]time.Duration, method string, params any) {
		t := time.Now()
		c.must(method, params, nil)
		*into = append(*into, time.Since(t))
	}
	version := 1
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		version++
		t := time.Now()
		// Words are typed into a comment line and into code, and taken back.
		line := 2500 + i%7
		change := object{"range": span(line, 0, line, 0), "text": " "}
		if i%2 == 1 {
			change = object{"range": span(2500+(i-1)%7, 0, 2500+(i-1)%7, 1), "text": ""}
		}
		c.change(uri, version, change)
		c.waitPublished(uri, version)
		keys = append(keys, time.Since(t))
		if i%10 == 0 {
			timed(&hovers, "textDocument/hover", object{"textDocument": doc, "position": at(62, 10)})
			timed(&hints, "textDocument/inlayHint", object{"textDocument": doc, "range": span(0, 0, 120, 0)})
			timed(&lenses, "textDocument/codeLens", object{"textDocument": doc})
		}
	}
	b.StopTimer()
	b.ReportMetric(started.Seconds()*1e3, "ms-start")
	b.ReportMetric(opened.Seconds()*1e3, "ms-first-diagnostics")
	b.ReportMetric(loaded.Seconds()*1e3, "ms-trace-loaded")
	b.ReportMetric(quantile(whileLoading, 0.95), "ms-hover-while-loading-p95")
	b.ReportMetric(quantile(keys, 0.5), "ms-keystroke-p50")
	b.ReportMetric(quantile(keys, 0.95), "ms-keystroke-p95")
	b.ReportMetric(quantile(hovers, 0.95), "ms-hover-p95")
	b.ReportMetric(quantile(hints, 0.95), "ms-inlay-p95")
	b.ReportMetric(quantile(lenses, 0.95), "ms-lens-p95")
	c.quit()
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
