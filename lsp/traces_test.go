package lsp

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// lastTrace is what the last status says is loaded, "" for nothing.
func (c *fakeClient) lastTrace() string {
	c.t.Helper()
	states := c.received("stepline/status")
	if len(states) == 0 {
		return ""
	}
	var s struct {
		Trace   string
		Loading bool
	}
	if err := json.Unmarshal(states[len(states)-1].Params, &s); err != nil {
		c.t.Error(err)
	}
	if s.Loading {
		return "loading"
	}
	return s.Trace
}

func (c *fakeClient) loadTrace(arguments ...any) *rpcError {
	c.t.Helper()
	return c.call("workspace/executeCommand", object{"command": "stepline.loadTrace", "arguments": arguments}, nil)
}

// TestTheUsersCommandWinsOverWhatWasFoundOrConfigured: whatever is found, offered or named by the settings around a command, the
// command's trace is what stays, and the command is never answered as cancelled.
func TestTheUsersCommandWinsOverWhatWasFoundOrConfigured(t *testing.T) {
	files := map[string]string{"compiled.py": "@traces/compile/compiled.py", "mine.json.gz": "@traces/compile/trace.json.gz", "trace.json.gz": "@traces/gpt/trace.json.gz"}
	found := func(c *fakeClient, dir string) {
		c.notify("workspace/didChangeWatchedFiles", object{"changes": []object{{"uri": pathURI(filepath.Join(dir, "trace.json.gz")), "type": 1}}})
		time.Sleep(2 * settleTime)
	}
	tests := []struct {
		name    string
		options object
		before  func(c *fakeClient, dir string)
		load    string
		fails   bool
		after   func(c *fakeClient, dir string)
		want    string
	}{
		{name: "found at the start", load: "mine.json.gz", want: "mine.json.gz"},
		{name: "loading when the command comes", before: func(c *fakeClient, _ string) { time.Sleep(time.Millisecond) }, load: "mine.json.gz", want: "mine.json.gz"},
		{name: "named by the settings", options: object{"traces": []string{"trace.json.gz"}}, load: "mine.json.gz", want: "mine.json.gz"},
		{name: "large and offered", options: object{"trace": object{"autoLoadLimit": 1}}, load: "mine.json.gz", want: "mine.json.gz"},
		{name: "found again later", load: "mine.json.gz", after: found, want: "mine.json.gz"},
		{name: "the command fails", load: "missing.json", fails: true, want: "trace.json.gz"},
		{name: "the command stops what was loading and fails", before: func(c *fakeClient, _ string) { time.Sleep(time.Millisecond) }, load: "missing.json", fails: true, want: "trace.json.gz"},
		{name: "the command fails beside settings", options: object{"traces": []string{"trace.json.gz"}}, load: "missing.json", fails: true, want: "trace.json.gz"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := workspaceOf(t, files)
			session(t, Options{}, func(t *testing.T, c *fakeClient) {
				c.answer("window/showMessageRequest", object{"title": "Load"})
				c.initialize(dir, fullCapabilities(), test.options)
				if test.before != nil {
					test.before(c, dir)
				}
				if err := c.loadTrace(test.load); (err != nil) != test.fails {
					t.Errorf("the command was answered %v", err)
				}
				time.Sleep(time.Minute) // of the bubble's clock
				if test.after != nil {
					test.after(c, dir)
				}
				if got := c.lastTrace(); got != test.want {
					t.Errorf("%q is loaded, want %q", got, test.want)
				}
			})
		})
	}
}

// TestLoadingIsToldOf from the first load's beginning to the last one's end, those that fail or are overtaken too.
func TestLoadingIsToldOf(t *testing.T) {
	dir, _, _ := gptWorkspace(t)
	var told []bool
	session(t, Options{Loading: func(busy bool) { told = append(told, busy) }}, func(t *testing.T, c *fakeClient) {
		c.initialize(dir, fullCapabilities(), object{"autoDiscover": false})
		for _, name := range []string{"trace.json.gz", "missing.json"} {
			_ = c.loadTrace(name)
			synctest.Wait()
		}
		for range 2 {
			c.begin("workspace/executeCommand", object{"command": "stepline.loadTrace", "arguments": []string{"trace.json.gz"}})
		}
		synctest.Wait()
		if len(told) < 6 || len(told)%2 != 0 {
			t.Errorf("told %v", told)
		}
		for i, busy := range told {
			if busy != (i%2 == 0) {
				t.Errorf("told %v", told)
			}
		}
	})
}

// TestALoadIsCancelledFromItsProgress: the request is answered as cancelled, what was loaded before stays.
func TestALoadIsCancelledFromItsProgress(t *testing.T) {
	dir, _, _ := gptWorkspace(t)
	session(t, Options{}, func(t *testing.T, c *fakeClient) {
		c.initialize(dir, fullCapabilities(), object{"traces": []string{"trace.json.gz"}})
		if got := c.lastTrace(); got != "trace.json.gz" {
			t.Fatalf("%q is loaded", got)
		}
		release := make(chan struct{})
		c.hold("window/workDoneProgress/create", release) // the load waits a little for the answer
		_, answer := c.begin("workspace/executeCommand", object{"command": "stepline.loadTrace", "arguments": []string{"trace.json.gz"}})
		created := c.received("window/workDoneProgress/create")
		c.notify("window/workDoneProgress/cancel", created[len(created)-1].Params)
		if m := <-answer; m.Error == nil || m.Error.Code != -32800 {
			t.Errorf("answered %s %v", m.Result, m.Error)
		}
		close(release)
		if got := c.lastTrace(); got != "trace.json.gz" {
			t.Errorf("%q is loaded", got)
		}
		c.notify("window/workDoneProgress/cancel", object{"token": "never heard of"})
		alive(t, c)
	})
}

// TestATraceUnloadedStaysUnloaded although it was still looked for when the command came.
func TestATraceUnloadedStaysUnloaded(t *testing.T) {
	dir, _, _ := gptWorkspace(t)
	session(t, Options{}, func(t *testing.T, c *fakeClient) {
		c.initialize(dir, fullCapabilities(), nil)
		synctest.Wait()
		c.must("workspace/executeCommand", object{"command": "stepline.unloadTrace"}, nil)
		time.Sleep(time.Minute)
		if got := c.lastTrace(); got != "" {
			t.Errorf("%q is loaded", got)
		}
	})
}

func TestSettingsThatNameNoTraceAnyMoreTakeItAway(t *testing.T) {
	dir, _, _ := gptWorkspace(t)
	session(t, Options{}, func(t *testing.T, c *fakeClient) {
		configured := func(section object) {
			c.answer("workspace/configuration", []any{section})
			c.notify("workspace/didChangeConfiguration", object{"settings": nil})
			time.Sleep(time.Minute)
		}
		c.initialize(dir, fullCapabilities(), object{"autoDiscover": false})
		for _, step := range []struct {
			traces []string
			want   string
		}{{nil, ""}, {[]string{"trace.json.gz"}, "trace.json.gz"}, {[]string{"trace.json.gz"}, "trace.json.gz"}, {nil, ""}} {
			configured(object{"traces": step.traces})
			if got := c.lastTrace(); got != step.want {
				t.Errorf("with %v, %q is loaded, want %q", step.traces, got, step.want)
			}
		}
	})
}

// TestTheReportIsThatOfTheFolderAskedFor and of no other.
func TestTheReportIsThatOfTheFolderAskedFor(t *testing.T) {
	with, _, _ := gptWorkspace(t)
	without := workspaceOf(t, map[string]string{"a.py": loads})
	session(t, Options{Cache: t.TempDir()}, func(t *testing.T, c *fakeClient) {
		c.must("initialize", object{"capabilities": fullCapabilities(), "initializationOptions": object{"autoDiscover": false},
			"workspaceFolders": []object{{"uri": pathURI(with), "name": "with"}, {"uri": pathURI(without), "name": "without"}}}, nil)
		c.notify("initialized", object{})
		if err := c.loadTrace(filepath.Join(with, "trace.json.gz")); err != nil {
			t.Fatal(err)
		}
		for folder, want := range map[string]string{"": "", pathURI(with): "", pathURI(filepath.Join(with, "gpt.py")): "", pathURI(without): "no trace is loaded in " + pathURI(without), "file:///nowhere": "is not open"} {
			err := c.call("stepline/report", object{"format": "text", "folder": folder}, nil)
			if want == "" && err != nil || want != "" && (err == nil || err.Code != -32803 || !strings.Contains(err.Message, want)) {
				t.Errorf("the report of %q: %v, want %q", folder, err, want)
			}
			err = c.call("workspace/executeCommand", object{"command": "stepline.openReport", "arguments": []object{{"folder": folder}}}, nil)
			if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Message, want)) {
				t.Errorf("openReport of %q: %v, want %q", folder, err, want)
			}
		}
		if err := c.loadTrace(object{"traces": []string{"trace.json.gz"}, "folder": "file:///nowhere"}); err == nil || !strings.Contains(err.Message, "is not open") {
			t.Errorf("loading into a folder that is not open: %v", err)
		}
	})
}

// TestAnExportOfNsightSystemsLoads: its ranges and kernels are a run like any other.
func TestAnExportOfNsightSystemsLoads(t *testing.T) {
	dir := workspaceOf(t, map[string]string{"train.py": loads, "run.sqlite": "@cases/70-nsys-no-nvtx/input.sqlite", "none.sqlite": "@cases/70-nsys-no-nvtx/no-kernels.sqlite"})
	session(t, Options{}, func(t *testing.T, c *fakeClient) {
		c.initialize(dir, fullCapabilities(), object{"autoDiscover": false})
		var loaded struct {
			Trace struct {
				Files []string
				Ranks int
				Total float64 `json:"gpu_total_us"`
			}
		}
		c.must("workspace/executeCommand", object{"command": "stepline.loadTrace", "arguments": []string{"run.sqlite"}}, &loaded)
		if loaded.Trace.Ranks != 1 || loaded.Trace.Total <= 0 || c.lastTrace() != "run.sqlite" {
			t.Errorf("loaded %+v, status %q", loaded, c.lastTrace())
		}
		var report struct{ Content string }
		c.must("stepline/report", object{"format": "markdown"}, &report)
		if !strings.Contains(report.Content, "run.sqlite") {
			t.Errorf("the report is\n%.500s", report.Content)
		}
		alive(t, c)
	})
}

// TestHoverNeedsNotWaitForTheNextCheck: while a document's check is under way for another reason than its text, the last one
// answers, with the lines of the trace there is now.
func TestHoverNeedsNotWaitForTheNextCheck(t *testing.T) {
	dir, uri, text := gptWorkspace(t)
	session(t, Options{}, func(t *testing.T, c *fakeClient) {
		c.initialize(dir, fullCapabilities(), object{"traces": []string{"trace.json.gz"}})
		c.open(uri, text)
		if got := c.lastTrace(); got != "trace.json.gz" {
			t.Fatalf("%q is loaded", got)
		}
		now := c.server.current.Load().documents[documentKey(uri)]
		renewed := now.renewed(now.folder).renewed(now.folder) // touched twice before it was checked
		if renewed.cell.peek() != nil || renewed.interim == nil {
			t.Fatal("a document that is to be checked again has nothing to answer by")
		}
		interim := renewed.interim()
		if len(interim.findings) == 0 || len(interim.lines.rows) == 0 {
			t.Errorf("%d findings, %d rows", len(interim.findings), len(interim.lines.rows))
		}
		bare := *now.folder
		bare.trace = nil
		if again := renewed.renewed(&bare).interim(); again.lines != nil || len(again.findings) != len(interim.findings) {
			t.Errorf("after the trace was unloaded: %d findings, lines %v", len(again.findings), again.lines)
		}
	})
}

// TestPullsSeeWhatOtherFilesSayNow: a pull right after an edit elsewhere is answered by the text as it is now, in open files and
// in closed ones.
func TestPullsSeeWhatOtherFilesSayNow(t *testing.T) {
	helper := "def log(t):\n    print(t.item())\n"
	loop := "import torch\nfrom helper import log\nmodel = torch.nn.Linear(3, 4).cuda()\nopt = torch.optim.SGD(model.parameters(), lr=1)\nfor x, y in loader:\n    loss = model(x.cuda()).sum()\n    loss.backward()\n    opt.step()\n    opt.zero_grad()\n"
	dir := workspaceOf(t, map[string]string{"helper.py": helper, "train.py": loop, "closed.py": "from helper import log\n"})
	uri := func(name string) string { return pathURI(filepath.Join(dir, name)) }
	session(t, Options{}, func(t *testing.T, c *fakeClient) {
		can := fullCapabilities()
		can["textDocument"].(object)["diagnostic"] = object{}
		c.initialize(dir, can, nil)
		var all struct {
			Items []struct {
				URI   string
				Items []diagnostic
			}
		}
		c.must("workspace/diagnostic", object{"previousResultIds": []any{}}, &all) // at once: it waits for the settings
		if len(all.Items) != 3 {
			t.Errorf("the first pull tells of %d files, want 3", len(all.Items))
		}
		c.open(uri("train.py"), loop)
		synced := func(name string) bool {
			_, _, items := c.pull(uri(name), nil)
			for _, d := range items {
				if d.Code == "SYN001" || d.Code == "SYN003" {
					return true
				}
			}
			return false
		}
		version := 1
		for _, open := range []bool{false, true} {
			if open {
				c.open(uri("helper.py"), helper)
			}
			version++
			c.change(uri("train.py"), version, object{"text": loop + "    log(loss)\n"})
			if !synced("helper.py") {
				t.Errorf("helper.py, open %v, is called from the loop, but a pull does not know it", open)
			}
			version++
			c.change(uri("train.py"), version, object{"text": loop})
			if synced("helper.py") {
				t.Errorf("helper.py, open %v, is no longer called from the loop, but a pull does not know it", open)
			}
		}
		c.notify("textDocument/didClose", object{"textDocument": object{"uri": uri("helper.py")}})
		version++
		c.change(uri("train.py"), version, object{"text": loop + "    log(loss)\n"})
		began := time.Now()
		c.must("workspace/diagnostic", object{"previousResultIds": []any{}}, &all)
		if waited := time.Since(began); waited < pauseTime || waited > patience {
			t.Errorf("closed files were checked %v after the keystroke, want a pause of %v", waited, pauseTime)
		}
		got := map[string]bool{}
		for _, r := range all.Items {
			got[filepath.Base(r.URI)] = len(r.Items) > 0
		}
		if d := cmp.Diff(map[string]bool{"helper.py": true, "train.py": got["train.py"], "closed.py": false}, got); d != "" {
			t.Errorf("files with findings (-want +got)\n%s", d)
		}
	})
}

// TestAClientThatAnswersNothingIsServed: one that promised to answer and does not keeps nobody waiting for long.
func TestAClientThatAnswersNothingIsServed(t *testing.T) {
	dir, uri, text := gptWorkspace(t)
	if err := os.WriteFile(filepath.Join(dir, "stepline.toml"), []byte("[rules]\nselect = [\"SYN\"]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	session(t, Options{}, func(t *testing.T, c *fakeClient) {
		release := make(chan struct{})
		c.held = map[string]chan struct{}{"workspace/configuration": release, "window/workDoneProgress/create": release, "client/registerCapability": release}
		c.answer("workspace/configuration", []any{object{"inlayHints": object{"enable": false}}})
		c.initialize(dir, fullCapabilities(), object{"autoDiscover": false})
		c.open(uri, text)
		began := time.Now()
		var hints []hint
		c.must("textDocument/inlayHint", object{"textDocument": object{"uri": uri}, "range": span(0, 0, 999, 0)}, &hints)
		if err := c.loadTrace("trace.json.gz"); err != nil {
			t.Error(err)
		}
		c.must("textDocument/inlayHint", object{"textDocument": object{"uri": uri}, "range": span(0, 0, 999, 0)}, &hints)
		if waited := time.Since(began); len(hints) == 0 || waited > askTime+createTime+time.Second {
			t.Errorf("%d hints after %v", len(hints), waited)
		}
		if _, found := c.published(uri); len(found) == 0 {
			t.Error("no findings by the settings that are known")
		}
		close(release)
		time.Sleep(time.Minute)
		c.must("textDocument/inlayHint", object{"textDocument": object{"uri": uri}, "range": span(0, 0, 999, 0)}, &hints)
		if len(hints) != 0 {
			t.Error("the late answer to workspace/configuration was not heeded")
		}
		for _, token := range c.received("$/progress") { // late, but whole
			t.Logf("%s", token.Params)
		}
		if n := len(c.received("$/progress")); n < 2 {
			t.Errorf("%d progress messages", n)
		}
	})
}

// TestLoadedTracesAreWatchedWhereverTheyAre: the client is asked for those that its usual globs miss, and no longer once they are
// unloaded.
func TestLoadedTracesAreWatchedWhereverTheyAre(t *testing.T) {
	outside := workspaceOf(t, map[string]string{"run.json.gz": "@traces/gpt/trace.json.gz"})
	dir, _, _ := gptWorkspace(t)
	for _, relative := range []bool{false, true} {
		session(t, Options{}, func(t *testing.T, c *fakeClient) {
			can := fullCapabilities()
			can["workspace"].(object)["didChangeWatchedFiles"] = object{"dynamicRegistration": true, "relativePatternSupport": relative}
			c.initialize(dir, can, object{"autoDiscover": false})
			asked := func(method string) int { return len(c.received(method)) }
			before := asked("client/registerCapability")
			if err := c.loadTrace("trace.json.gz"); err != nil {
				t.Fatal(err)
			}
			if asked("client/registerCapability") != before {
				t.Error("a trace that the globs have was registered again")
			}
			trace := filepath.Join(outside, "run.json.gz")
			if err := c.loadTrace(trace); err != nil {
				t.Fatal(err)
			}
			registered := c.received("client/registerCapability")
			want := `"globPattern":"` + trace + `"`
			if relative {
				want = `"baseUri":"` + pathURI(outside) + `"`
			}
			if last := string(registered[len(registered)-1].Params); len(registered) != before+1 || !strings.Contains(last, want) {
				t.Errorf("registered %d times, last %s, want %s", len(registered)-before, last, want)
			}
			refreshes := asked("workspace/inlayHint/refresh")
			c.notify("workspace/didChangeWatchedFiles", object{"changes": []object{{"uri": pathURI(trace), "type": 2}}})
			time.Sleep(2 * settleTime)
			if asked("workspace/inlayHint/refresh") != refreshes+1 {
				t.Error("a trace outside the folder that was written anew was not loaded again")
			}
			c.must("workspace/executeCommand", object{"command": "stepline.unloadTrace"}, nil)
			if asked("client/unregisterCapability") < 1 {
				t.Error("an unloaded trace stays watched")
			}
		})
	}
}

// TestLinksOutOfAStrangersFolderAreNotFollowed: what a folder's links lead to elsewhere is not read only because it was opened.
func TestLinksOutOfAStrangersFolderAreNotFollowed(t *testing.T) {
	outside := workspaceOf(t, map[string]string{"secret.py": loads, "settings.toml": "[rules]\nselect = [\"secret words\"]\n", "lib/more.py": loads, "trace.json.gz": "@traces/gpt/trace.json.gz"})
	dir := workspaceOf(t, map[string]string{"a.py": loads, "real/b.py": loads})
	for link, to := range map[string]string{"stolen.py": outside + "/secret.py", "stepline.toml": outside + "/settings.toml", "lib": outside + "/lib", "trace.json.gz": outside + "/trace.json.gz", "inside.py": dir + "/real/b.py", "loop": dir} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Skip(err)
		}
	}
	session(t, Options{}, func(t *testing.T, c *fakeClient) {
		can := fullCapabilities()
		can["textDocument"].(object)["diagnostic"] = object{}
		c.initialize(dir, can, nil)
		var all struct {
			Items []struct {
				URI   string
				Items []diagnostic
			}
		}
		c.must("workspace/diagnostic", object{"previousResultIds": []any{}}, &all)
		got := map[string]int{}
		for _, r := range all.Items {
			got[strings.TrimPrefix(r.URI, pathURI(dir)+"/")] = len(r.Items)
		}
		if d := cmp.Diff(map[string]int{"a.py": 1, "real/b.py": 1, "inside.py": 1}, got); d != "" {
			t.Errorf("files told of (-want +got)\n%s", d)
		}
		for _, name := range []string{"stolen.py", "lib/more.py"} {
			if _, _, items := c.pull(pathURI(filepath.Join(dir, name)), nil); len(items) != 0 {
				t.Errorf("%s was read: %v", name, places(items))
			}
		}
		messages := c.received("window/showMessage")
		if len(messages) != 1 || !strings.Contains(string(messages[0].Params), "stepline.toml: a link to a file outside") || strings.Contains(string(messages[0].Params), "secret words") {
			t.Errorf("messages %+v", messages)
		}
		if got := c.lastTrace(); got != "" {
			t.Errorf("%q is loaded", got)
		}
	})
}

// TestTracesThatAStrangersFolderNames: neither a folder nor a glob of its settings leads out by a link, and none goes in circles.
func TestTracesThatAStrangersFolderNames(t *testing.T) {
	outside := workspaceOf(t, map[string]string{"trace.json.gz": "@traces/gpt/trace.json.gz"})
	for _, test := range []struct {
		name, traces, link, to string
		loaded                 bool
	}{
		{"a folder with a link out", "runs", "runs/a.json.gz", outside + "/trace.json.gz", false},
		{"a glob that meets a link out", "runs/*.gz", "runs/a.json.gz", outside + "/trace.json.gz", false},
		{"a folder elsewhere", "out", "out", outside, false},
		{"a glob that meets a folder elsewhere", "**/*.json.gz", "runs/out", outside, true},
		{"a glob and a link to the folder above", "**/*.json.gz", "runs/up", "..", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := workspaceOf(t, map[string]string{"stepline.toml": "traces = [\"" + test.traces + "\"]\n", "runs/own.json.gz": "@traces/gpt/trace.json.gz"})
			if err := os.Symlink(test.to, filepath.Join(dir, filepath.FromSlash(test.link))); err != nil {
				t.Skip(err)
			}
			session(t, Options{}, func(t *testing.T, c *fakeClient) {
				c.initialize(dir, fullCapabilities(), nil)
				if !test.loaded {
					c.waitFor("window/showMessage", "lie outside the folder that names them")
				} else {
					c.waitFor("stepline/status", `"steps":2`)
				}
				var report struct{ Content string }
				failure := c.call("stepline/report", object{"format": "json"}, &report)
				if test.loaded != (failure == nil) || strings.Contains(report.Content, outside) {
					t.Errorf("the report: %v, %.300s", failure, report.Content)
				}
			})
		})
	}
}
