package lsp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"stepline/lsp/internal/wire"
)

// alive shows that the session still does its work.
func alive(t *testing.T, c *fakeClient) {
	t.Helper()
	uri := "file:///nowhere/alive.py"
	c.open(uri, "import torch\nx = torch.load(p)\n")
	_, found := c.published(uri)
	if c.server.pulls.Load() {
		_, _, found = c.pull(uri, nil)
	}
	if len(found) != 1 {
		t.Errorf("the session no longer works: %v", places(found))
	}
	c.notify("textDocument/didClose", object{"textDocument": object{"uri": uri}})
}

func TestOddParamsAreAnsweredAndTheSessionLives(t *testing.T) {
	requests := []string{}
	for method := range requestHandlers {
		if method != "shutdown" {
			requests = append(requests, method)
		}
	}
	odd := []string{``, `null`, `[]`, `3`, `"x"`, `{}`, `{"textDocument":null}`, `{"textDocument":7}`, `{"textDocument":{"uri":null}}`, `{"textDocument":{"uri":5}}`,
		`{"textDocument":{"uri":"file:///x.py"}}`, `{"textDocument":{"uri":"file:///x.py"},"position":{"line":-1,"character":0}}`,
		`{"textDocument":{"uri":"file:///x.py"},"position":{"line":"1","character":0},"range":[]}`,
		`{"textDocument":{"uri":"file:///x.py"},"range":{"start":{"line":0}},"position":{"line":1e400}}`,
		`{"command":7}`, `{"command":"no.such"}`, `{"command":"stepline.loadTrace"}`, `{"command":"stepline.loadTrace","arguments":[3]}`, `{"command":"stepline.loadTrace","arguments":{}}`,
		`{"command":"stepline.ignoreLine","arguments":["file:///x.py"]}`, `{"command":"stepline.explainRule","arguments":[null]}`, `{"command":"stepline.compare","arguments":[{}]}`,
		`{"data":{"kind":"fix","uri":"file:///x.py","fix":-1}}`, `{"data":3}`, `{"format":"pdf"}`, `{"previousResultIds":{}}`}
	session(t, Options{}, func(t *testing.T, c *fakeClient) {
		c.initialize("", fullCapabilities(), nil)
		c.open("file:///x.py", "import torch\nx = torch.load(p)\n")
		for _, method := range requests {
			for _, params := range odd {
				m := map[string]any{"method": method}
				if params != "" {
					m["params"] = json.RawMessage(params)
				}
				if !json.Valid([]byte(params)) && params != "" {
					t.Fatal(params)
				}
				_, answer := c.begin(method, m["params"])
				got := <-answer
				if got.Error != nil && got.Error.Code != -32602 && got.Error.Code != -32803 && got.Error.Code != -32801 {
					t.Errorf("%s %s: %v", method, params, got.Error)
				}
				needsParams := method != "stepline/report" && method != "stepline/latency" && (params == "" || params == "null" || params == "[]" || params == "3")
				if needsParams && (got.Error == nil || got.Error.Code != -32602) {
					t.Errorf("%s %s: answered %s %v, want invalid params", method, params, got.Result, got.Error)
				}
			}
		}
		for method := range notificationHandlers {
			for _, params := range odd {
				if params == "" {
					c.write(map[string]any{"method": method})
					continue
				}
				c.notify(method, json.RawMessage(params))
			}
		}
		alive(t, c)
	})
}

func TestUnknownMethods(t *testing.T) {
	session(t, Options{}, func(t *testing.T, c *fakeClient) {
		c.initialize("", fullCapabilities(), nil)
		for _, method := range []string{"no/such", "$/noSuch", "workspace/willCreateFiles", "textDocument/definition"} {
			if err := c.call(method, object{}, nil); err == nil || err.Code != -32601 {
				t.Errorf("%s: %v", method, err)
			}
			c.notify(method, object{})
		}
		for _, m := range c.received("") {
			t.Errorf("an answer to a notification: %+v", m)
		}
		alive(t, c)
	})
}

func TestLifeCycle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startClient(t, Options{NoWatch: true})
		if err := c.call("textDocument/hover", object{}, nil); err == nil || err.Code != -32002 {
			t.Errorf("before initialize: %v", err)
		}
		if err := c.call("shutdown", nil, nil); err == nil || err.Code != -32002 {
			t.Errorf("shutdown before initialize: %v", err)
		}
		c.open("file:///early.py", "import torch\nx = torch.load(p)\n")
		if err := c.call("initialize", nil, nil); err == nil || err.Code != -32602 {
			t.Errorf("initialize without params: %v", err)
		}
		if err := c.call("initialize", []int{1}, nil); err == nil || err.Code != -32602 {
			t.Errorf("initialize with a list: %v", err)
		}
		c.initialize("", object{"textDocument": 7, "general": object{"positionEncodings": "utf-8"}, "window": nil}, "not an object")
		if err := c.call("initialize", object{"capabilities": object{}}, nil); err == nil || err.Code != -32600 {
			t.Errorf("a second initialize: %v", err)
		}
		if v, _ := c.published("file:///early.py"); v != -1 {
			t.Error("a notification before initialize was heeded")
		}
		alive(t, c)
		c.must("shutdown", nil, nil)
		if err := c.call("textDocument/hover", object{"textDocument": object{"uri": "file:///x"}, "position": at(0, 0)}, nil); err == nil || err.Code != -32600 {
			t.Errorf("after shutdown: %v", err)
		}
		c.open("file:///late.py", "import torch\nx = torch.load(p)\n")
		if v, _ := c.published("file:///late.py"); v != -1 {
			t.Error("a notification after shutdown was heeded")
		}
		c.notify("exit", nil)
		if err := <-c.served; err != nil {
			t.Error(err)
		}
		c.inflight.Wait()
		<-c.ended
	})
}

func TestExitWithoutShutdownAndEndOfInput(t *testing.T) {
	for name, test := range map[string]struct {
		end  func(c *fakeClient)
		want error
	}{
		"exit":         {func(c *fakeClient) { c.notify("exit", nil) }, ErrExitWithoutShutdown},
		"end of input": {func(c *fakeClient) { _ = c.in.Close() }, nil},
		"cut message":  {func(c *fakeClient) { c.raw("Content-Length: 100\r\n\r\n{"); _ = c.in.Close() }, io.ErrUnexpectedEOF},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := startClient(t, Options{NoWatch: true})
			c.initialize("", fullCapabilities(), nil)
			c.open("file:///x.py", strings.Repeat("x = torch.load(p)\n", 1000))
			test.end(c)
			if err := <-c.served; !errors.Is(err, test.want) || test.want == nil && err != nil {
				t.Errorf("%s: Serve returned %v, want %v", name, err, test.want)
			}
			c.inflight.Wait()
			<-c.ended
		})
	}
}

func TestOddFrames(t *testing.T) {
	session(t, Options{}, func(t *testing.T, c *fakeClient) {
		c.initialize("", fullCapabilities(), nil)
		for _, odd := range []string{
			"Content-Length: 5\r\n\r\nhello", "Content-Length: 99999999999999\r\n\r\n", "Content-Length: -5\r\n\r\n", "Content-Length: x\r\n\r\n", "garbage\r\n\r\n",
			"Content-Length: 12\r\n\r\n" + `{"jsonrpc":"2.0","method":"$/x"}`,
			"Content-Length: 400\r\n\r\n" + `{"jsonrpc":"2.0","method":"$/x"}`,
		} {
			c.raw(odd)
			alive(t, c)
		}
		c.raw(string(wire.AppendFrame(nil, []byte(`[{"jsonrpc":"2.0","id":"b1","method":"shutdownX"},{"jsonrpc":"2.0","method":"$/x"}]`))))
		c.raw(string(wire.AppendFrame(nil, []byte(`{"jsonrpc":"2.0","id":99999999999,"method":"nope"}`))))
		alive(t, c)
		parseErrors, batches, big := 0, 0, 0
		c.mu.Lock()
		for _, m := range c.got {
			if m.Error != nil && m.Error.Code == -32700 && string(m.ID) == "null" {
				parseErrors++
			}
			if string(m.ID) == "99999999999" && m.Error != nil {
				big++
			}
		}
		batches = c.batches
		c.mu.Unlock()
		if parseErrors < 5 || batches != 1 || big != 1 {
			t.Errorf("%d parse errors, %d batch answers, %d answers to the big id", parseErrors, batches, big)
		}
	})
}

func TestCancelledRequestsAnswer32800(t *testing.T) {
	dir, _, _ := gptWorkspace(t)
	session(t, Options{}, func(t *testing.T, c *fakeClient) {
		// The answer to workspace/configuration is held back: loading waits for it, and is cancelled meanwhile.
		release := make(chan struct{})
		c.answer("workspace/configuration", []any{nil})
		c.hold("workspace/configuration", release)
		c.initialize(dir, fullCapabilities(), object{"autoDiscover": false})
		id, answer := c.begin("workspace/executeCommand", object{"command": "stepline.loadTrace", "arguments": []any{"trace.json.gz"}})
		synctest.Wait()
		c.notify("$/cancelRequest", object{"id": id})
		if m := <-answer; m.Error == nil || m.Error.Code != -32800 {
			t.Errorf("answered %s %v", m.Result, m.Error)
		}
		close(release)
		alive(t, c)
	})
}

// TestServeNeedsNoReader shows that a client that stops reading blocks nothing: its messages are still taken.
func TestServeNeedsNoReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inR, inW := io.Pipe()
		outR, outW := io.Pipe()
		served := make(chan error, 1)
		go func() { served <- Serve(context.Background(), inR, outW, Options{NoWatch: true}) }()
		send := func(body string) { _, _ = inW.Write(wire.AppendFrame(nil, []byte(body))) }
		send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"capabilities":{}}}`)
		send(`{"jsonrpc":"2.0","method":"initialized","params":{}}`)
		send(`{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{"uri":"file:///x.py","languageId":"python","version":1,"text":"import torch\n"}}}`)
		for i := range 500 {
			send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"textDocument/didChange","params":{"textDocument":{"uri":"file:///x.py","version":%d},"contentChanges":[{"range":{"start":{"line":1,"character":0},"end":{"line":1,"character":0}},"text":"x = torch.load(p)\n"}]}}`, i+2))
			send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"textDocument/hover","params":{"textDocument":{"uri":"file:///x.py"},"position":{"line":0,"character":0}}}`, i+1))
		}
		synctest.Wait()
		answers := 0
		go func() {
			r := wire.NewFrameReader(outR)
			for {
				body, err := r.Read()
				if err != nil {
					return
				}
				if bytes.Contains(body, []byte(`"id":`)) {
					answers++
				}
			}
		}()
		synctest.Wait()
		if answers != 501 {
			t.Errorf("%d answers, want 501", answers)
		}
		_ = inW.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}
