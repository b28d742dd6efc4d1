package lsp

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stepline/lsp/internal/text"
)

const cases = "../testdata/cases"

func TestPositionEncodingsOfCase90(t *testing.T) {
	code := readText(t, filepath.Join(cases, "90-lsp-utf16", "code.py"))
	for _, test := range []struct {
		name     string
		offered  any
		chosen   string
		from, to int
	}{
		{"nothing offered", nil, "utf-16", 24, 37},
		{"utf-16 only", []string{"utf-16"}, "utf-16", 24, 37},
		{"utf-8 and utf-16", []string{"utf-8", "utf-16"}, "utf-8", 31, 44},
		{"utf-32 only", []string{"utf-32"}, "utf-32", 23, 36},
		{"one we do not know", []string{"utf-7"}, "utf-16", 24, 37},
	} {
		t.Run(test.name, func(t *testing.T) {
			session(t, Options{}, func(t *testing.T, c *fakeClient) {
				can := fullCapabilities()
				can["general"] = object{"positionEncodings": test.offered}
				result := c.initialize("", can, nil)
				if got := result["capabilities"].(object)["positionEncoding"]; got != test.chosen {
					t.Errorf("chose %v", got)
				}
				c.open("untitled:code", code)
				_, found := c.published("untitled:code")
				want := []string{fmt.Sprintf("IOL003 2:%d-2:%d", test.from, test.to)}
				if d := cmp.Diff(want, places(found)); d != "" {
					t.Errorf("(-want +got)\n%s", d)
				}
			})
		})
	}
}

func TestIncrementalChangesOfCase92(t *testing.T) {
	initial, final := readText(t, filepath.Join(cases, "92-lsp-incremental", "initial.py")), readText(t, filepath.Join(cases, "92-lsp-incremental", "final.py"))
	var steps []struct {
		Version        int
		ContentChanges []object
	}
	if err := json.Unmarshal([]byte(readText(t, filepath.Join(cases, "92-lsp-incremental", "changes.json"))), &steps); err != nil {
		t.Fatal(err)
	}
	session(t, Options{}, func(t *testing.T, c *fakeClient) {
		c.initialize("", fullCapabilities(), nil)
		c.open("untitled:a", initial)
		for _, s := range steps {
			c.change("untitled:a", s.Version, s.ContentChanges...)
		}
		version, found := c.published("untitled:a")
		if d := cmp.Diff([]string{"IOL003 3:4-3:17"}, places(found)); version != 6 || d != "" {
			t.Errorf("version %d (-want +got)\n%s", version, d)
		}
	})
	// The text itself, by the same functions on the same messages.
	doc := text.New(initial)
	for _, s := range steps {
		raw, _ := json.Marshal(s.ContentChanges)
		var changes []contentChange
		if err := json.Unmarshal(raw, &changes); err != nil {
			t.Fatal(err)
		}
		var err error
		if doc, err = applyChanges(doc, changes, text.UTF16); err != nil {
			t.Fatal(err)
		}
	}
	if doc.String() != final || fmt.Sprintf("%x", sha256.Sum256([]byte(doc.String()))) != "755d4b9133685d62173418b44b4573e650c24d706beb1b405b93972f91f2f1f0" {
		t.Errorf("text %q, want %q", doc.String(), final)
	}
}

func TestLargeFileOfCase94(t *testing.T) {
	var b strings.Builder
	b.WriteString("import torch\n")
	for i := 2; i < 120_002; i++ {
		if i == 90_001 {
			b.WriteString("M = torch.load(\"w.pt\")\n")
			continue
		}
		fmt.Fprintf(&b, "v%d = [%d, %d, %d]\n", i, i, i+1, i+2)
	}
	session(t, Options{}, func(t *testing.T, c *fakeClient) {
		c.initialize("", fullCapabilities(), nil)
		c.open("file:///big/gen.py", b.String())
		_, found := c.published("file:///big/gen.py")
		if d := cmp.Diff([]string{"IOL003 90000:4-90000:22"}, places(found)); d != "" {
			t.Errorf("(-want +got)\n%s", d)
		}
		for i := range 100 {
			c.change("file:///big/gen.py", i+2, object{"range": span(5, 0, 5, 0), "text": "a"})
		}
		version, found := c.published("file:///big/gen.py")
		if d := cmp.Diff([]string{"IOL003 90000:4-90000:22"}, places(found)); version != 101 || d != "" {
			t.Errorf("version %d (-want +got)\n%s", version, d)
		}
		c.change("file:///big/gen.py", 200, object{"range": span(5, 0, 5, 0), "text": "a"})
		// quit: shutdown and exit in the middle of work are answered at once
	})
}

func TestVersionsOpensAndCloses(t *testing.T) {
	load := "import torch\nx = torch.load(p)\n"
	one := []string{"IOL003 1:4-1:17"}
	tests := []struct {
		name    string
		run     func(c *fakeClient, uri string)
		version int
		want    []string
	}{
		{"a stale change is ignored", func(c *fakeClient, uri string) {
			c.open(uri, load)
			c.change(uri, 5, object{"text": "pass\n"})
			c.change(uri, 4, object{"text": load})
			c.change(uri, 5, object{"text": load})
		}, 5, []string{}},
		{"versions jump", func(c *fakeClient, uri string) {
			c.open(uri, "pass\n")
			c.change(uri, 1_000_000, object{"text": load})
		}, 1_000_000, one},
		{"a change before the open is ignored", func(c *fakeClient, uri string) {
			c.change(uri, 2, object{"text": load})
			c.open(uri, "pass\n")
		}, 1, []string{}},
		{"a second open is the client's last word", func(c *fakeClient, uri string) {
			c.open(uri, "pass\n")
			c.change(uri, 7, object{"text": "pass\n"})
			c.open(uri, load)
		}, 1, one},
		{"a change of a closed file is ignored", func(c *fakeClient, uri string) {
			c.open(uri, load)
			c.notify("textDocument/didClose", object{"textDocument": object{"uri": uri}})
			c.change(uri, 3, object{"text": load})
		}, 0, []string{}},
		{"full and ranged changes in one message", func(c *fakeClient, uri string) {
			c.open(uri, "x = 1\n")
			c.change(uri, 2, object{"text": "import torch\n\n"}, object{"range": span(1, 0, 1, 0), "text": "x = torch.load(p)\n"}, object{"range": nil, "text": load})
		}, 2, one},
		{"a change with half a range is ignored whole", func(c *fakeClient, uri string) {
			c.open(uri, load)
			c.change(uri, 2, object{"text": "pass\n"}, object{"range": object{"start": at(0, 0)}, "text": "x"})
		}, 1, one},
		{"lone carriage returns end lines", func(c *fakeClient, uri string) { c.open(uri, "import torch\r\rx = torch.load(p)\r") }, 1, []string{"IOL003 2:4-2:17"}},
		{"a byte order mark is a character of the first line", func(c *fakeClient, uri string) { c.open(uri, "\ufeffimport torch; x = torch.load(p)\n") }, 1, []string{"IOL003 0:19-0:32"}},
		{"numbers as floats", func(c *fakeClient, uri string) {
			c.open(uri, load)
			c.raw(`Content-Length: ` + fmt.Sprint(len(floatChange(uri))) + "\r\n\r\n" + floatChange(uri))
		}, 2, []string{"IOL003 2:4-2:17"}},
		{"other spellings of the URI are the same document", func(c *fakeClient, uri string) {
			c.open(uri, "pass\n")
			c.change(strings.Replace(uri, "/w.py", "/%77.py", 1), 2, object{"text": load})
		}, 2, one},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			session(t, Options{}, func(t *testing.T, c *fakeClient) {
				c.initialize("", fullCapabilities(), nil)
				uri := "file:///nowhere/w.py"
				test.run(c, uri)
				version, found := c.published(uri)
				if d := cmp.Diff(test.want, places(found)); version != test.version || d != "" {
					t.Errorf("version %d, want %d (-want +got)\n%s", version, test.version, d)
				}
			})
		})
	}
}

func floatChange(uri string) string {
	return `{"jsonrpc":"2.0","method":"textDocument/didChange","params":{"textDocument":{"uri":"` + uri + `","version":2.0},"contentChanges":[{"range":{"start":{"line":1.0,"character":0.0},"end":{"line":1,"character":0e0}},"text":"\n"}]}}`
}

func TestURIsOfAllKinds(t *testing.T) {
	code := "import torch\nx = torch.load(p)\n"
	for _, uri := range []string{"untitled:Untitled-1", "git:/home/u/x.py?%7B%22ref%22%3A%22~%22%7D", "file:///c%3A/Users/me/a%20b.py", "file:///C:/x.py",
		"file://server/share/x.py", "vscode-remote://ssh-remote%2Bhost/home/x.py", "no uri at all.py", "file:///模型/🙂.py", "file:///x/%E6%A8%A1.py"} {
		session(t, Options{}, func(t *testing.T, c *fakeClient) {
			c.initialize("", fullCapabilities(), nil)
			c.open(uri, code)
			if _, found := c.published(uri); len(found) != 1 {
				t.Errorf("%s: %v", uri, places(found))
			}
			var hover, actions json.RawMessage
			c.must("textDocument/hover", object{"textDocument": object{"uri": uri}, "position": at(1, 6)}, &hover)
			c.must("textDocument/codeAction", object{"textDocument": object{"uri": uri}, "range": span(1, 6, 1, 6), "context": object{}}, &actions)
			if !strings.Contains(string(hover), "IOL003") || !strings.Contains(string(actions), "Ignore IOL003") {
				t.Errorf("%s: hover %.200s, actions %.200s", uri, hover, actions)
			}
			c.notify("textDocument/didClose", object{"textDocument": object{"uri": uri}})
			if _, found := c.published(uri); len(found) != 0 {
				t.Errorf("%s: after closing %v", uri, places(found))
			}
		})
	}
}
