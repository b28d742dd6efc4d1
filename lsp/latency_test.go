package lsp

import (
	"path/filepath"
	"testing"
	"time"
)

// TestLatencyIsTold: each edit counts once, from its message to its diagnostics, and what no edit made does not count; so does each
// answer to a request.
func TestLatencyIsTold(t *testing.T) {
	dir := workspaceOf(t, map[string]string{"gpt.py": "@traces/gpt/gpt.py"})
	uri := pathURI(filepath.Join(dir, "gpt.py"))
	session(t, Options{}, func(t *testing.T, c *fakeClient) {
		c.initialize(dir, fullCapabilities(), object{"autoDiscover": false})
		c.open(uri, readText(t, filepath.Join(dir, "gpt.py")))
		c.published(uri)
		told := func() (l latenciesTold) {
			c.must("stepline/latency", nil, &l)
			return l
		}
		if l := told(); l.Edits != (latencyTold{}) || l.Answers["textDocument/hover"] != (latencyTold{}) {
			t.Errorf("before any edit: %+v", l)
		}
		for version := 2; version < 5; version++ {
			c.change(uri, version, object{"range": span(20, 0, 20, 0), "text": "\n"})
			c.published(uri)
			time.Sleep(2 * laterTime) // the whole check that follows tells nothing new
		}
		for range 2 {
			c.must("textDocument/hover", object{"textDocument": object{"uri": uri}, "position": at(20, 0)}, nil)
		}
		for what, count := range map[string]int{"edits": 3, "textDocument/hover": 2} {
			l := told().Answers[what]
			if what == "edits" {
				l = told().Edits
			}
			if l.Count != count || l.P50Ms > l.P95Ms || l.P95Ms > l.MostMs || l.MostMs >= laterTime.Seconds()*1e3 {
				t.Errorf("%s, %d of them: %+v", what, count, l)
			}
		}
	})
}

func TestLatencyForgetsOldEdits(t *testing.T) {
	var l latency
	for range latencyKept {
		l.add(time.Hour)
	}
	for range latencyKept - 1 {
		l.add(time.Millisecond)
	}
	if got, want := l.told(), (latencyTold{Count: 2*latencyKept - 1, P50Ms: 1, P95Ms: 1, MostMs: 3_600_000}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
