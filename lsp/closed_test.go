package lsp

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

const (
	helperSource = "def log(t):\n    print(t.item())\n\n\ndef scale(x):\n    return x * 2\n"
	netsSource   = "import torch\n\n\nclass Net(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.layer = torch.nn.Linear(3, 4)\n\n    def forward(self, x):\n        return self.layer(x)\n\n\ndef build():\n    return Net().cuda()\n"
	runSource    = "import torch\nfrom helper import log\nfrom nets import build\n\n\ndef main(loader):\n    model = build()\n    opt = torch.optim.SGD(model.parameters(), lr=1)\n    for x, y in loader:\n        loss = model(x.cuda()).sum()\n        loss.backward()\n        opt.step()\n        opt.zero_grad()\n"
	evalSource   = "import torch\nfrom helper import log\nfrom nets import build\n\n\n@torch.no_grad()\ndef evaluate(loader):\n    model = build()\n    for x, y in loader:\n        log(model(x.cuda()))\n"
)

// dependingWorkspace has files that use each other, and others that do not.
func dependingWorkspace(t testing.TB) (dir string, names []string) {
	files := map[string]string{"helper.py": helperSource, "nets.py": netsSource, "run.py": runSource, "evaluate.py": evalSource}
	for i := range 5 {
		files[fmt.Sprintf("aside%d.py", i)] = fmt.Sprintf("import torch\n\n\ndef main():\n    x = torch.zeros(%d).cuda()\n    for _ in range(3):\n        print(x.item())\n", i)
	}
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	return workspaceOf(t, files), names
}

// TestAnEditLintsOnlyWhatDependsOnIt: a pull of the workspace after an edit lints those of the files that are not open whose
// findings can have changed, and none where the edit matters to no other file.
func TestAnEditLintsOnlyWhatDependsOnIt(t *testing.T) {
	dir, names := dependingWorkspace(t)
	uri := func(name string) string { return pathURI(filepath.Join(dir, name)) }
	core, logged := observer.New(zap.DebugLevel)
	session(t, Options{Log: zap.New(core)}, func(t *testing.T, c *fakeClient) {
		can := fullCapabilities()
		can["textDocument"].(object)["diagnostic"] = object{}
		c.initialize(dir, can, nil)
		text := map[string]string{"run.py": runSource, "helper.py": helperSource}
		versions := map[string]int{}
		open := func(name string) {
			versions[name] = 1
			c.open(uri(name), text[name])
		}
		edit := func(name, old, new string) {
			if !strings.Contains(text[name], old) {
				t.Fatalf("%s does not hold %q", name, old)
			}
			text[name] = strings.Replace(text[name], old, new, 1)
			versions[name]++
			c.change(uri(name), versions[name], object{"text": text[name]})
		}
		pull := func() (linted []string, found map[string][]string) {
			logged.TakeAll()
			var all struct {
				Items []struct {
					URI   string
					Items []diagnostic
				}
			}
			c.must("workspace/diagnostic", object{"previousResultIds": []any{}}, &all)
			found = map[string][]string{}
			for _, r := range all.Items {
				found[filepath.Base(r.URI)] = places(r.Items)
			}
			linted = []string{}
			for _, entry := range logged.FilterMessage("files that are not open were checked").All() {
				for _, path := range entry.ContextMap()["linted"].([]any) {
					linted = append(linted, path.(string))
				}
			}
			return linted, found
		}
		step := func(what string, want ...string) map[string][]string {
			t.Helper()
			linted, found := pull()
			if d := cmp.Diff(append([]string{}, want...), linted); d != "" {
				t.Errorf("%s: linted (-want +got)\n%s", what, d)
			}
			return found
		}
		step("the first pull", names...)
		step("nothing has changed")
		open("run.py")
		step("a file was opened")
		edit("run.py", "    model = build()\n", "    # the model\n    model = build()\n")
		step("a comment in a function that nobody calls")
		edit("run.py", "        loss.backward()\n", "        loss = loss * 2\n        loss.backward()\n")
		step("a statement there")
		edit("run.py", "        opt.step()\n", "        opt.step()\n        log(loss)\n")
		found := step("a call of another file's function from the loop", "helper.py")
		if !slices.ContainsFunc(found["helper.py"], func(place string) bool { return strings.HasPrefix(place, "SYN001") }) {
			t.Errorf("helper.py reads a tensor in every step, but its diagnostics are %v", found["helper.py"])
		}
		open("helper.py")
		step("it was opened")
		edit("helper.py", "    return x * 2\n", "    return x * 3\n")
		step("an edit of a file that others import", "evaluate.py")
	})
}

// TestClosedFilesArePulledOneByOne: a pull of a file that is not open sees the file and the open ones as they are at that time.
func TestClosedFilesArePulledOneByOne(t *testing.T) {
	dir, _ := dependingWorkspace(t)
	uri := func(name string) string { return pathURI(filepath.Join(dir, name)) }
	session(t, Options{NoWatch: true}, func(t *testing.T, c *fakeClient) {
		c.initialize(dir, fullCapabilities(), nil)
		count := func(name string) int {
			_, _, items := c.pull(uri(name), nil)
			return len(items)
		}
		before := count("helper.py")
		c.open(uri("run.py"), runSource)
		c.change(uri("run.py"), 2, object{"text": runSource + "        log(loss)\n"})
		if got := count("helper.py"); got <= before {
			t.Errorf("helper.py has %d findings once it is called from a training loop, %d before", got, before)
		}
		if got := count("gone.py"); got != 0 {
			t.Errorf("a file that is not there has %d findings", got)
		}
		write(t, filepath.Join(dir, "new.py"), loads) // nobody tells of it
		if got := count("new.py"); got != 1 {
			t.Errorf("a new file has %d findings, want 1", got)
		}
		write(t, filepath.Join(dir, "aside1.py"), "\n"+loads+loads)
		if got := count("aside1.py"); got != 2 {
			t.Errorf("a file that has changed on disk has %d findings, want 2", got)
		}
	})
}

// TestANotebookHasItsFindingsInItsCells: positions in the module that the cells make are none that a client knows, whether the
// notebook is open or not.
func TestANotebookHasItsFindingsInItsCells(t *testing.T) {
	const file = `{"cells": [{"cell_type": "code", "id": "a", "source": ["import torch\n", "x = torch.load(p)\n"], "metadata": {}, "outputs": []}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}`
	dir := workspaceOf(t, map[string]string{"n.ipynb": file, "upper.IPYNB": file})
	uri := func(name string) string { return pathURI(filepath.Join(dir, name)) }
	session(t, Options{}, func(t *testing.T, c *fakeClient) {
		c.initialize(dir, fullCapabilities(), nil)
		pulled := func(uri string, want int) {
			t.Helper()
			if _, _, items := c.pull(uri, nil); len(items) != want {
				t.Errorf("%s: %v, want %d", uri, places(items), want)
			}
		}
		pulled(uri("n.ipynb"), 0)
		pulled(uri("upper.IPYNB"), 0)
		c.notify("notebookDocument/didOpen", object{
			"notebookDocument":  object{"uri": uri("n.ipynb"), "version": 1, "cells": []object{{"kind": 2, "document": "cell:0"}}},
			"cellTextDocuments": []object{{"uri": "cell:0", "languageId": "python", "version": 1, "text": loads}}})
		pulled(uri("n.ipynb"), 0)
		pulled("cell:0", 1)
	})
}

// TestANotebookIsNamedByItsCells: a finding of another file that a notebook's loop is the reason for names the cell the loop is in.
func TestANotebookIsNamedByItsCells(t *testing.T) {
	dir := workspaceOf(t, map[string]string{"helper.py": helperSource})
	uri := func(name string) string { return pathURI(filepath.Join(dir, name)) }
	imports, loop, _ := strings.Cut(runSource, "from nets import build\n")
	session(t, Options{}, func(t *testing.T, c *fakeClient) {
		c.initialize(dir, fullCapabilities(), nil)
		c.notify("notebookDocument/didOpen", object{
			"notebookDocument": object{"uri": uri("n.ipynb"), "version": 1, "cells": []object{{"kind": 2, "document": "cell:0"}, {"kind": 2, "document": "cell:1"}}},
			"cellTextDocuments": []object{
				{"uri": "cell:0", "languageId": "python", "version": 1, "text": imports},
				{"uri": "cell:1", "languageId": "python", "version": 1, "text": strings.Replace(loop, "build()", "torch.nn.Linear(3, 4).cuda()", 1) + "        log(loss)\n"}}})
		c.open(uri("helper.py"), helperSource)
		_, list := c.published(uri("helper.py"))
		if len(list) == 0 || len(list[0].RelatedInformation) != 2 {
			t.Fatalf("helper.py has %+v", list)
		}
		for _, r := range list[0].RelatedInformation {
			if r.Location.URI != "cell:1" {
				t.Errorf("%q is said of %s", r.Message, r.Location.URI)
			}
		}
	})
}

// TestWhatIsNotShownIsCounted: of a file with more findings than editors bear, the last diagnostic tells how many are left out: where it
// is open, where it is not, and in a notebook's cell.
func TestWhatIsNotShownIsCounted(t *testing.T) {
	text := "import torch\n" + strings.Repeat("x = torch.load(p)\n", maxDiagnostics+3)
	dir := workspaceOf(t, map[string]string{"a.py": text})
	uri := pathURI(filepath.Join(dir, "a.py"))
	session(t, Options{NoWatch: true}, func(t *testing.T, c *fakeClient) {
		c.initialize(dir, fullCapabilities(), nil)
		counted := func(where string, list []diagnostic) {
			if len(list) != maxDiagnostics+1 || !strings.HasPrefix(list[maxDiagnostics].Message, "3 more findings") {
				t.Errorf("%s: %d, the last is %q", where, len(list), list[len(list)-1].Message)
			}
		}
		c.open(uri, text)
		_, list := c.published(uri)
		counted("pushed", list)
		c.notify("notebookDocument/didOpen", object{
			"notebookDocument":  object{"uri": "untitled:n", "version": 1, "cells": []object{{"kind": 2, "document": "cell:0"}}},
			"cellTextDocuments": []object{{"uri": "cell:0", "languageId": "python", "version": 1, "text": text}}})
		_, list = c.published("cell:0")
		counted("pushed of a cell", list)
		_, open, list := c.pull(uri, nil)
		counted("pulled", list)
		c.notify("textDocument/didClose", object{"textDocument": object{"uri": uri}})
		_, closed, list := c.pull(uri, nil)
		counted("pulled, closed", list)
		if open != closed {
			t.Errorf("the same has the ids %s and %s", open, closed)
		}
	})
}

// TestAFileOpenedMeanwhileIsReported: as it is in the editor. A pull of the workspace waits until nobody types, and what the client opens
// and closes does not wait with it; what it closes is reported once.
func TestAFileOpenedMeanwhileIsReported(t *testing.T) {
	dir, _ := dependingWorkspace(t)
	uri := func(name string) string { return pathURI(filepath.Join(dir, name)) }
	session(t, Options{NoWatch: true}, func(t *testing.T, c *fakeClient) {
		c.initialize(dir, fullCapabilities(), nil)
		type reported struct {
			URI   string
			Items []diagnostic
		}
		var all struct{ Items []reported }
		c.must("workspace/diagnostic", object{"previousResultIds": []any{}}, &all)
		var held []object
		for _, r := range all.Items {
			held = append(held, object{"uri": r.URI, "value": "another"})
		}
		count := len(all.Items)
		c.open(uri("evaluate.py"), evalSource)
		c.open(uri("run.py"), runSource)
		c.change(uri("run.py"), 2, object{"text": runSource + "        log(loss)\n"})
		_, answer := c.begin("workspace/diagnostic", object{"previousResultIds": held})
		time.Sleep(pauseTime / 2)
		c.open(uri("helper.py"), "# one\n# two\n"+helperSource)
		c.notify("textDocument/didClose", object{"textDocument": object{"uri": uri("evaluate.py")}})
		if err := json.Unmarshal((<-answer).Result, &all); err != nil {
			t.Fatal(err)
		}
		if len(all.Items) != count {
			t.Errorf("%d reports on %d files", len(all.Items), count)
		}
		for _, r := range all.Items {
			if r.URI == uri("helper.py") && (len(r.Items) == 0 || r.Items[0].Range.Start.Line != 3) {
				t.Errorf("what was opened has %v", places(r.Items))
			}
		}
	})
}
