package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"

	"stepline/lsp/internal/wire"
)

// fakeClient speaks to a server over pipes, as an editor does.
type fakeClient struct {
	t      testing.TB
	frames *wire.FrameReader
	in     io.WriteCloser
	served chan error
	server *server

	mu       sync.Mutex
	nextID   int
	answers  map[string]chan message
	got      []message // notifications and requests of the server, in order
	asked    map[string]func(params json.RawMessage) (any, *rpcError)
	diags    map[string]json.RawMessage // last published params, by URI
	ended    chan struct{}
	inflight sync.WaitGroup
	held     map[string]chan struct{} // answers to these wait
	batches  int
	// pushed is signalled at every push of diagnostics.
	pushed chan struct{}
	// arrived is signalled at every message.
	arrived chan struct{}
}

// answer sets what the client answers to a request of the server.
func (c *fakeClient) answer(method string, result any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked[method] = func(json.RawMessage) (any, *rpcError) { return result, nil }
}

// hold keeps the answers to a method back until release is closed.
func (c *fakeClient) hold(method string, release chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = map[string]chan struct{}{method: release}
}

type message struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *rpcError       `json:"error,omitempty"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *rpcError) Error() string { return fmt.Sprintf("%d: %s", e.Code, e.Message) }

// startClient runs a server and a client on it. quit ends both and reports what Serve returned.
func startClient(t testing.TB, options Options) *fakeClient {
	t.Helper()
	serverIn, clientOut := io.Pipe()
	clientIn, serverOut := io.Pipe()
	if options.Log == nil {
		if testing.Verbose() {
			options.Log = zaptest.NewLogger(t)
		} else {
			options.Log = zap.NewNop()
		}
	}
	c := &fakeClient{t: t, in: clientOut, frames: wire.NewFrameReader(clientIn), served: make(chan error, 1), answers: map[string]chan message{},
		asked: map[string]func(json.RawMessage) (any, *rpcError){}, diags: map[string]json.RawMessage{}, ended: make(chan struct{}), pushed: make(chan struct{}, 1), arrived: make(chan struct{}, 1)}
	server, err := newServer(context.Background(), serverIn, serverOut, options)
	if err != nil {
		t.Fatal(err)
	}
	c.server = server
	go func() {
		err := server.serve()
		_ = serverOut.Close()
		c.served <- err
	}()
	go c.read()
	return c
}

func (c *fakeClient) read() {
	defer close(c.ended)
	for {
		body, err := c.frames.Read()
		if err != nil {
			return
		}
		if body[0] == '[' {
			c.mu.Lock()
			c.batches++
			c.mu.Unlock()
			continue
		}
		var m message
		if err := json.Unmarshal(body, &m); err != nil {
			c.t.Errorf("the server sent %s: %v", body, err)
			continue
		}
		c.take(m)
	}
}

func (c *fakeClient) take(m message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m.Method == "" {
		if ch := c.answers[string(m.ID)]; ch != nil {
			delete(c.answers, string(m.ID))
			ch <- m
		} else {
			c.got = append(c.got, m)
		}
		return
	}
	c.got = append(c.got, m)
	select {
	case c.arrived <- struct{}{}:
	default:
	}
	if m.Method == "textDocument/publishDiagnostics" {
		var p struct{ URI string }
		_ = json.Unmarshal(m.Params, &p)
		c.diags[p.URI] = m.Params
		select {
		case c.pushed <- struct{}{}:
		default:
		}
	}
	if m.ID == nil {
		return
	}
	answer := message{ID: m.ID, Result: json.RawMessage("null")}
	if f := c.asked[m.Method]; f != nil {
		result, failure := f(m.Params)
		answer.Error = failure
		if failure == nil {
			answer.Result, _ = json.Marshal(result)
		}
	}
	hold := c.held[m.Method]
	c.inflight.Add(1)
	go func() { // reading must go on while the server's input is full
		defer c.inflight.Done()
		if hold != nil {
			<-hold
		}
		c.write(answer)
	}()
}

func (c *fakeClient) write(m any) {
	body, err := json.Marshal(m)
	if err != nil {
		c.t.Error(err)
		return
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) == nil {
		fields["jsonrpc"] = json.RawMessage(`"2.0"`)
		body, _ = json.Marshal(fields)
	}
	c.raw(string(wire.AppendFrame(nil, body)))
}

// raw writes bytes as they are.
func (c *fakeClient) raw(text string) {
	_, _ = io.WriteString(c.in, text) // a server that has ended takes nothing more
}

func (c *fakeClient) notify(method string, params any) {
	c.write(map[string]any{"method": method, "params": params})
}

// begin sends a request and returns where its answer comes.
func (c *fakeClient) begin(method string, params any) (id int, answer chan message) {
	c.mu.Lock()
	c.nextID++
	id = c.nextID
	answer = make(chan message, 1)
	c.answers[fmt.Sprint(id)] = answer
	c.mu.Unlock()
	c.write(map[string]any{"id": id, "method": method, "params": params})
	return id, answer
}

// call sends a request, waits and decodes the result.
func (c *fakeClient) call(method string, params, result any) *rpcError {
	c.t.Helper()
	_, answer := c.begin(method, params)
	var m message
	select {
	case m = <-answer:
	case <-c.ended:
		c.t.Fatalf("%s: the server ended", method)
	}
	if m.Error != nil {
		return m.Error
	}
	if result != nil {
		if err := json.Unmarshal(m.Result, result); err != nil {
			c.t.Errorf("%s: the result %s: %v", method, m.Result, err)
		}
	}
	return nil
}

// must is call for what has to succeed.
func (c *fakeClient) must(method string, params, result any) {
	c.t.Helper()
	if err := c.call(method, params, result); err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
}

type object = map[string]any

// fullCapabilities are those of a client that can do everything but pull diagnostics.
func fullCapabilities() object {
	refresh := object{"refreshSupport": true}
	return object{
		"general": object{"positionEncodings": []string{"utf-16"}},
		"window":  object{"workDoneProgress": true, "showDocument": object{"support": true}},
		"workspace": object{"configuration": true, "workspaceEdit": object{"documentChanges": true}, "inlayHint": refresh, "codeLens": refresh, "diagnostics": refresh,
			"didChangeWatchedFiles": object{"dynamicRegistration": true}, "didChangeConfiguration": object{"dynamicRegistration": true}},
		"textDocument": object{
			"publishDiagnostics": object{"relatedInformation": true, "codeDescriptionSupport": true, "versionSupport": true},
			"codeAction":         object{"resolveSupport": object{"properties": []string{"edit"}}, "dataSupport": true},
			"inlayHint":          object{"resolveSupport": object{"properties": []string{"tooltip"}}},
			"hover":              object{"contentFormat": []string{"markdown", "plaintext"}},
		},
	}
}

// initialize opens the session on a folder ("" for none).
func (c *fakeClient) initialize(folder string, capabilities, options any) object {
	c.t.Helper()
	params := object{"processId": os.Getpid(), "rootUri": nil, "capabilities": capabilities, "initializationOptions": options}
	if folder != "" {
		params["workspaceFolders"] = []object{{"uri": pathURI(folder), "name": "w"}}
	}
	var result object
	c.must("initialize", params, &result)
	c.notify("initialized", object{})
	return result
}

func (c *fakeClient) open(uri, text string) {
	c.notify("textDocument/didOpen", object{"textDocument": object{"uri": uri, "languageId": "python", "version": 1, "text": text}})
}

func (c *fakeClient) change(uri string, version int, changes ...object) {
	c.notify("textDocument/didChange", object{"textDocument": object{"uri": uri, "version": version}, "contentChanges": changes})
}

func at(line, character int) object { return object{"line": line, "character": character} }

func span(l1, c1, l2, c2 int) object { return object{"start": at(l1, c1), "end": at(l2, c2)} }

// diagnostic is what tests look at.
type diagnostic struct {
	Range struct {
		Start, End struct{ Line, Character int }
	}
	Severity           int
	Code               string
	Message            string
	Data               json.RawMessage
	RelatedInformation []struct {
		Location struct{ URI string }
		Message  string
	}
}

func (d diagnostic) place() string {
	return fmt.Sprintf("%s %d:%d-%d:%d", d.Code, d.Range.Start.Line, d.Range.Start.Character, d.Range.End.Line, d.Range.End.Character)
}

// published are the diagnostics last pushed for a document; the version is −1 where none was pushed.
func (c *fakeClient) published(uri string) (version int, list []diagnostic) {
	c.t.Helper()
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	raw, ok := c.diags[uri]
	if !ok {
		return -1, nil
	}
	var p struct {
		Version     int
		Diagnostics []diagnostic
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		c.t.Error(err)
	}
	return p.Version, p.Diagnostics
}

func places(list []diagnostic) []string {
	out := []string{}
	for _, d := range list {
		out = append(out, d.place())
	}
	return out
}

// received are the server's notifications and requests of one method so far.
func (c *fakeClient) received(method string) []message {
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []message
	for _, m := range c.got {
		if m.Method == method {
			out = append(out, m)
		}
	}
	return out
}

// quit ends the session as a client should and reports trouble.
func (c *fakeClient) quit() {
	c.t.Helper()
	c.must("shutdown", nil, nil)
	c.notify("exit", nil)
	if err := <-c.served; err != nil {
		c.t.Errorf("Serve: %v", err)
	}
	c.inflight.Wait()
	<-c.ended
}

// session runs a test with a server inside a synctest bubble: waiting is exact, and no goroutine may be left at its end.
func session(t *testing.T, options Options, test func(t *testing.T, c *fakeClient)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		options.NoWatch = true // the system's watcher blocks where a bubble cannot see
		c := startClient(t, options)
		done := false
		defer func() {
			if !done { // the test failed half-way: end the server, or the bubble hangs
				_ = c.in.Close()
				<-c.served
				c.inflight.Wait()
				<-c.ended
			}
		}()
		test(t, c)
		c.quit()
		done = true
	})
}

// workspaceOf writes files into a fresh folder; a value that is the path of a file under testdata, marked by "@", is copied.
func workspaceOf(t testing.TB, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		data := []byte(content)
		if len(content) > 0 && content[0] == '@' {
			if data, err = os.ReadFile(filepath.Join("..", "testdata", content[1:])); err != nil {
				t.Fatal(err)
			}
		}
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// waitFor waits, on the real clock, for a notification whose params hold all of the words.
func (c *fakeClient) waitFor(method string, words ...string) {
	c.t.Helper()
	deadline := time.After(5 * time.Minute)
	for {
		c.mu.Lock()
		for _, m := range c.got {
			missing := m.Method != method
			for _, w := range words {
				missing = missing || !strings.Contains(string(m.Params), w)
			}
			if !missing {
				c.mu.Unlock()
				return
			}
		}
		c.mu.Unlock()
		select {
		case <-c.arrived:
		case <-deadline:
			c.t.Fatalf("no %s with %q for five minutes", method, words)
		}
	}
}
