package lsp

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"stepline/lsp/internal/wire"
)

// heapAfterGC is the live heap, everything unreachable gone.
func heapAfterGC() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestSoak edits and loads for a long time: memory stays flat and, at the end, no goroutine is left (the bubble would hang).
// STEPLINE_SOAK makes it as long as the product promises: 10,000 edits, 100 loads.
func TestSoak(t *testing.T) {
	edits, loadings := 2_000, 10
	if os.Getenv("STEPLINE_SOAK") != "" {
		edits, loadings = 10_000, 100
	}
	dir := workspaceOf(t, map[string]string{"compiled.py": "@traces/compile/compiled.py", "run/trace.json.gz": "@traces/compile/trace.json.gz"})
	uri := pathURI(filepath.Join(dir, "compiled.py"))
	source := readText(t, filepath.Join(dir, "compiled.py"))
	session(t, Options{}, func(t *testing.T, c *fakeClient) {
		c.initialize(dir, fullCapabilities(), object{"autoDiscover": false})
		c.open(uri, source)
		var settled uint64
		for i := range edits {
			change := object{"range": span(3, 0, 3, 0), "text": "# x\n"}
			if i%2 == 1 {
				change = object{"range": span(3, 0, 4, 0), "text": ""}
			}
			c.change(uri, i+2, change)
			if i%(edits/loadings) == 0 {
				c.must("workspace/executeCommand", object{"command": "stepline.loadTrace", "arguments": []string{"run/trace.json.gz"}}, nil)
				c.must("textDocument/hover", object{"textDocument": object{"uri": uri}, "position": at(20, 4)}, nil)
				c.must("workspace/executeCommand", object{"command": "stepline.unloadTrace"}, nil)
			}
			if i%100 == 0 {
				synctest.Wait()
				c.mu.Lock()
				c.got = nil
				c.mu.Unlock()
			}
			if i == edits/2 {
				synctest.Wait()
				settled = heapAfterGC()
			}
		}
		synctest.Wait()
		c.mu.Lock()
		c.got = nil
		c.mu.Unlock()
		if after := heapAfterGC(); after > settled+8<<20 {
			t.Errorf("the heap grew from %d to %d bytes over the second half", settled, after)
		}
	})
}

// FuzzMessages sends arbitrary bodies to an initialized session; whatever they are, it must then still answer.
func FuzzMessages(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"textDocument/hover","params":{"textDocument":{"uri":"file:///x.py"},"position":{"line":0,"character":0}}}`,
		`{"jsonrpc":"2.0","method":"textDocument/didChange","params":{"textDocument":{"uri":"file:///x.py","version":2},"contentChanges":[{"range":{"start":{"line":0,"character":1},"end":{"line":9,"character":0}},"text":"\ud83d"}]}}`,
		`{"jsonrpc":"2.0","method":"notebookDocument/didChange","params":{"notebookDocument":{"uri":"file:///n.ipynb","version":2},"change":{"cells":{"structure":{"array":{"start":-1,"deleteCount":99,"cells":[{"kind":2,"document":"c"}]}}}}}}`,
		`{"jsonrpc":"2.0","id":"a","method":"workspace/executeCommand","params":{"command":"stepline.ignoreLine","arguments":["file:///x.py",4294967295]}}`,
		`{"jsonrpc":"2.0","method":"workspace/didChangeConfiguration","params":{"settings":{"stepline":{"rules":{"select":[1]},"inlayHints":3}}}}`,
		`[{"jsonrpc":"2.0","id":5,"method":"codeAction/resolve","params":{"data":{"kind":"fix","uri":"file:///x.py","version":1,"rule":"IOL003","start":-1,"end":2,"fix":7}}}]`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		if strings.Contains(body, "exit") || strings.Contains(body, "shutdown") || strings.Contains(body, `\u`) || strings.Contains(body, "loadTrace") {
			t.Skip() // they end the session, or may spell what does; or read files
		}
		synctest.Test(t, func(t *testing.T) {
			c := startClient(t, Options{NoWatch: true})
			c.initialize("", fullCapabilities(), nil)
			c.open("file:///x.py", "import torch\nx = torch.load(p)\n")
			_, _ = io.WriteString(c.in, string(wire.AppendFrame(nil, []byte(body))))
			c.raw("\r\n") // a body that is cut short by the fuzzer must not swallow what follows
			uri := "file:///nowhere/alive.py"
			c.open(uri, "import torch\nx = torch.load(p)\n")
			if _, found := c.published(uri); len(found) == 0 && !strings.Contains(body, "onfiguration") {
				t.Errorf("after %q the session no longer works", body)
			}
			_ = c.in.Close()
			<-c.served
			c.inflight.Wait()
			<-c.ended
		})
	})
}
