package lsp

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"stepline/lsp/internal/wire"
)

// footprint is what a process holds when everything unreachable is gone.
type footprint struct {
	heap, resident uint64 // bytes; resident counts the parser's C memory too, 0 where the system does not tell
	goroutines     int
}

func (c *fakeClient) footprint() footprint {
	synctest.Wait()
	c.mu.Lock()
	c.got = nil
	c.mu.Unlock()
	debug.FreeOSMemory() // collects, then gives back
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	f := footprint{heap: m.HeapAlloc, goroutines: runtime.NumGoroutine()}
	if statm, err := os.ReadFile("/proc/self/statm"); err == nil { // Linux: size resident …, in pages
		if fields := strings.Fields(string(statm)); len(fields) > 1 {
			pages, _ := strconv.ParseUint(fields[1], 10, 64)
			f.resident = pages * uint64(os.Getpagesize())
		}
	}
	return f
}

// What may be more at the end than half-way: a heap is never twice the same, and allocators keep some of what was freed. A tree
// or an index kept for each edit or load would be far more.
const (
	heapSlack     = 8 << 20
	residentSlack = 64 << 20
)

// TestSoak edits, opens, closes, configures, loads and unloads for a long time: memory stays flat, C memory of the parser
// included, and no goroutine is left over. With STEPLINE_SOAK it goes on as long as CI has it: 10,000 edits, 100 loads.
func TestSoak(t *testing.T) {
	edits, loadings := 2_000, 10
	if os.Getenv("STEPLINE_SOAK") != "" {
		edits, loadings = 10_000, 100
	}
	dir := workspaceOf(t, map[string]string{"compiled.py": "@traces/compile/compiled.py", "run/trace.json.gz": "@traces/compile/trace.json.gz", "other.py": loads})
	uri, other := pathURI(filepath.Join(dir, "compiled.py")), pathURI(filepath.Join(dir, "other.py"))
	source := readText(t, filepath.Join(dir, "compiled.py"))
	session(t, Options{}, func(t *testing.T, c *fakeClient) {
		c.initialize(dir, fullCapabilities(), object{"autoDiscover": false})
		c.open(uri, source)
		began := c.footprint()
		var halfway footprint
		for i := range edits {
			change := object{"range": span(3, 0, 3, 0), "text": "# x\n"}
			if i%2 == 1 {
				change = object{"range": span(3, 0, 4, 0), "text": ""}
			}
			c.change(uri, i+2, change)
			switch {
			case i%(edits/loadings) == 0:
				if err := c.loadTrace("run/trace.json.gz"); err != nil {
					t.Fatal(err)
				}
				c.must("textDocument/hover", object{"textDocument": object{"uri": uri}, "position": at(20, 4)}, nil)
				c.must("workspace/executeCommand", object{"command": "stepline.unloadTrace"}, nil)
			case i%100 == 50:
				c.open(other, loads)
			case i%100 == 70:
				c.notify("textDocument/didClose", object{"textDocument": object{"uri": other}})
			case i%500 == 30:
				c.notify("workspace/didChangeConfiguration", object{"settings": nil})
			}
			if i%100 == 99 {
				synctest.Wait()
				c.mu.Lock()
				c.got = nil
				c.mu.Unlock()
			}
			if i == edits/2 {
				halfway = c.footprint()
			}
		}
		time.Sleep(time.Minute) // of the bubble's clock: what waits for a pause is done
		end := c.footprint()
		t.Logf("%d edits, %d loads: at the start %+v, half-way %+v, at the end %+v", edits, loadings, began, halfway, end)
		if end.heap > halfway.heap+heapSlack || end.resident > halfway.resident+residentSlack {
			t.Errorf("memory grew from %+v to %+v over the second half", halfway, end)
		}
		if end.goroutines > began.goroutines {
			t.Errorf("%d goroutines at the end, %d at the start", end.goroutines, began.goroutines)
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
		`{"jsonrpc":"2.0","id":1e3,"method":"textDocument/inlayHint","params":{"textDocument":{"uri":"file:///x.py"},"range":{"start":{"line":9,"character":9},"end":{"line":0,"character":0}}}}`,
		`{"jsonrpc":"2.0","method":"workspace/didChangeWorkspaceFolders","params":{"event":{"added":[{"uri":"file:///nowhere/at/all"},{"uri":"git:/x"}],"removed":[{"uri":""},null]}}}`,
		`{"jsonrpc":"2.0","id":"p","method":"workspace/diagnostic","params":{"previousResultIds":[{"uri":"file:///x.py","value":null}],"partialResultToken":1}}`,
		`{"jsonrpc":"2.0","id":2,"method":"stepline/lineCosts","params":{"textDocument":{"uri":"file:///x.py"},"range":{"start":{"line":0},"end":null}}}`,
		`{"jsonrpc":"2.0","method":"notebookDocument/didOpen","params":{"notebookDocument":{"uri":"n","version":-1,"cells":[{"kind":2,"document":"c"},{"kind":2,"document":"c"}]},"cellTextDocuments":[{"uri":"c","text":"%%bash\n!"}]}}`,
		`{"jsonrpc":"2.0","id":null,"result":{"title":"Load"}}`,
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
			_, found := c.published(uri)
			if c.server.pulls.Load() {
				_, _, found = c.pull(uri, nil)
			}
			if len(found) == 0 && !strings.Contains(body, "onfiguration") {
				t.Errorf("after %q the session no longer works", body)
			}
			_ = c.in.Close()
			<-c.served
			c.inflight.Wait()
			<-c.ended
		})
	})
}
