package lsp

import (
	"path/filepath"
	"strings"
	"testing"
)

// hoverText is the hover of a line (from 1).
func hoverText(c *fakeClient, uri string, line int) string {
	var hover struct{ Contents struct{ Value string } }
	c.must("textDocument/hover", object{"textDocument": object{"uri": uri}, "position": object{"line": line - 1, "character": 8}}, &hover)
	return hover.Contents.Value
}

// TestHoverBesideTheTrace: what Nsight Compute and a memory snapshot say stands on the lines they are about, and follows edits.
func TestHoverBesideTheTrace(t *testing.T) {
	dir := workspaceOf(t, map[string]string{"gpt.py": "@traces/gpt/gpt.py", "trace.json.gz": "@traces/gpt/trace.json.gz", "memory.pickle.gz": "@traces/gpt/memory_snapshot.pickle.gz"})
	profiled, err := filepath.Abs(filepath.Join("..", "traceindex", "ncu", "testdata", "gpt.ncu.raw.csv.gz"))
	if err != nil {
		t.Fatal(err)
	}
	uri, text := pathURI(filepath.Join(dir, "gpt.py")), readText(t, filepath.Join(dir, "gpt.py"))
	session(t, Options{}, func(t *testing.T, c *fakeClient) {
		c.initialize(dir, fullCapabilities(), object{"traces": []string{"trace.json.gz", "memory.pickle.gz", profiled}})
		c.open(uri, text)
		c.published(uri)
		for _, want := range []string{"GPU forward", "by Nsight Compute: limited by", "% of peak", "Memory at the device's peak", "Memory allocated in all"} {
			if got := hoverText(c, uri, 26); !strings.Contains(got, want) {
				t.Errorf("%q is not in the hover of line 26:\n%s", want, got)
			}
		}
		c.change(uri, 2, object{"text": "# one more line\n" + text})
		if got := hoverText(c, uri, 27); !strings.Contains(got, "by Nsight Compute: limited by") || !strings.Contains(got, "Memory at the device's peak") {
			t.Errorf("after an insertion above:\n%s", got)
		}
		c.change(uri, 3, object{"text": strings.Replace(text, "F.softmax(att, dim=-1)", "F.softmax(att, dim=-1) * 2", 1)})
		if got := hoverText(c, uri, 26); strings.Contains(got, "Nsight Compute") || strings.Contains(got, "Memory at") || !strings.Contains(got, "has changed since") {
			t.Errorf("after an edit inside:\n%s", got)
		}
	})
}

// TestHoverOfNCCL: the logs of a job stand on the call of init_process_group, with or without a trace.
func TestHoverOfNCCL(t *testing.T) {
	for _, traces := range [][]string{{"nccl.log"}, {"nccl.log", "ddp.rank0.trace.json.gz"}} {
		dir := workspaceOf(t, map[string]string{"ddp.py": "@traces/ddp/ddp.py", "ddp.rank0.trace.json.gz": "@traces/ddp/ddp.rank0.trace.json.gz", "nccl.log": "@cases/74-nccl-log/nccl.log"})
		uri, text := pathURI(filepath.Join(dir, "ddp.py")), readText(t, filepath.Join(dir, "ddp.py"))
		session(t, Options{}, func(t *testing.T, c *fakeClient) {
			c.initialize(dir, fullCapabilities(), object{"traces": traces})
			c.open(uri, text)
			c.published(uri)
			got := hoverText(c, uri, 30)
			for _, want := range []string{"NCCL 2.22.3+cuda12.6", "collective-mismatch", "rank 1 never joined AllGather", "error 12"} {
				if !strings.Contains(got, want) {
					t.Errorf("%v: %q is not in\n%s", traces, want, got)
				}
			}
			var answer struct{ Content string }
			c.must("stepline/report", object{"format": "markdown"}, &answer)
			if !strings.Contains(answer.Content, "rank 1 never joined AllGather") {
				t.Errorf("%v: the report says nothing of it", traces)
			}
		})
	}
}
