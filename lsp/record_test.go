package lsp

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/synctest"
)

func TestARecordedSessionReplaysWithoutTheTexts(t *testing.T) {
	var session bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		c := startClient(t, Options{NoWatch: true, Record: &session})
		c.initialize("", fullCapabilities(), nil)
		c.open("untitled:secret", "password = 'hunter2'\nimport torch\nx = torch.load(p)\n")
		c.change("untitled:secret", 2, object{"range": span(0, 0, 0, 0), "text": "# 模🙂\n"})
		c.must("textDocument/hover", object{"textDocument": object{"uri": "untitled:secret"}, "position": at(1, 0)}, nil)
		c.must("textDocument/codeAction", object{"textDocument": object{"uri": "untitled:secret"}, "range": span(0, 0, 0, 0),
			"context": object{"diagnostics": []object{{"range": span(0, 0, 0, 1), "message": "a password: hunter2", "source": "another linter"}}}}, nil)
		c.notify("notebookDocument/didOpen", object{"notebookDocument": object{"uri": "file:///n.ipynb", "version": 1, "metadata": object{"tags": []string{"hunter2"}},
			"cells": []object{{"kind": 2, "document": "cell:1", "metadata": object{"note": "hunter2"}}}},
			"cellTextDocuments": []object{{"uri": "cell:1", "languageId": "python", "version": 1, "text": "hunter2 = 1"}}})
		c.quit()
	})
	text := session.String()
	if strings.Contains(text, "hunter2") || strings.Contains(text, "torch.load") || strings.Count(text, "\n") < 6 {
		t.Errorf("the record is %s", text)
	}
	synctest.Test(t, func(t *testing.T) {
		results, err := Replay(context.Background(), strings.NewReader(text), Options{NoWatch: true})
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]int{}
		for _, r := range results {
			seen[r.Method] = r.Count
		}
		for _, want := range []string{"initialize", "textDocument/didChange", "textDocument/hover", "shutdown"} {
			if seen[want] != 1 {
				t.Errorf("%s was answered %d times in %v", want, seen[want], seen)
			}
		}
		if _, err := Replay(context.Background(), strings.NewReader("no session\n"), Options{NoWatch: true}); err == nil || !strings.Contains(err.Error(), "line 1") {
			t.Errorf("a file that is no session: %v", err)
		}
	})
}

func TestPprofIsForLoopbackOnly(t *testing.T) {
	for _, address := range []string{"0.0.0.0:6060", ":6060", "example.com:80", "6060"} {
		err := Serve(context.Background(), strings.NewReader(""), &bytes.Buffer{}, Options{Pprof: address})
		if err == nil || !strings.Contains(err.Error(), "pprof") {
			t.Errorf("%s: %v", address, err)
		}
	}
}
