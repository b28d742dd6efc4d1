package pyscan

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestBlankMagics(t *testing.T) {
	for _, test := range []struct{ name, cell, want string }{
		{"plain", "x = 1 % 2\n", "x = 1 % 2\n"},
		{"line magic", "%matplotlib inline\nx = 1\n", "pass              \nx = 1\n"},
		{"shell", "!pip install torch\n", "pass              \n"},
		{"short shell", "!ls", "0  "},
		{"shell over lines", "!pip install \\\n  torch\nx = 1", "pass          \n       \nx = 1"},
		{"indented", "if a:\n    %cd x\n", "if a:\n    pass \n"},
		{"help", "torch.relu?\nx??\n", "pass       \n0  \n"},
		{"a question in a comment", "x = 1  # why?\n", "x = 1  # why?\n"},
		{"shell value", "files = !ls -l\n", "files = 0     \n"},
		{"magic value", "x = %env HOME\n", "x = 0        \n"},
		{"unequal", "x != y\n", "x != y\n"},
		{"other language", "%%bash\necho $x\nls | wc\n", "      \n       \n       \n"},
		{"timed cell", "%%time\nx = f()\n", "      \nx = f()\n"},
		{"timed line", "%time x = f()\n", "if 1: x = f()\n"},
		{"timeit with options", "%timeit -n 10 -r3 f()\n", "if 1:             f()\n"},
		{"timeit alone", "%timeit\n", "pass   \n"},
		{"percent continues", "x = ('%d'\n     % 3)\ny = 1\n", "x = ('%d'\n     % 3)\ny = 1\n"},
		{"in a string", "x = '''\n%magic\n!ls\n'''\n", "x = '''\n%magic\n!ls\n'''\n"},
		{"after a backslash", "x = a \\\n% b\n", "x = a \\\n% b\n"},
		{"CRLF", "%pip list\r\nx = 1\r\n", "pass     \r\nx = 1\r\n"},
		{"blank lines first", "\n\n%%html\n<b>\n", "\n\n      \n   \n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, BlankMagics(test.cell)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestBlankMagicsKeepsLengths(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cell := rapid.StringMatching(`([%!?]{0,2}[a-z '"()\\#=]{0,8}[?]{0,2}\r?\n?){0,6}`).Draw(t, "cell")
		blanked := BlankMagics(cell)
		if len(blanked) != len(cell) {
			t.Fatalf("%q became %q", cell, blanked)
		}
		if got, want := NewLineTable(blanked), NewLineTable(cell); !cmp.Equal(got.starts, want.starts) {
			t.Fatalf("lines moved: %q became %q", cell, blanked)
		}
	})
}

func notebookFixture(t *testing.T) (*Notebook, []byte) {
	t.Helper()
	data, err := os.ReadFile("testdata/train.ipynb")
	if err != nil {
		t.Fatal(err)
	}
	notebook, err := ParseNotebook("train.ipynb", data)
	if err != nil {
		t.Fatal(err)
	}
	return notebook, data
}

func TestNotebook(t *testing.T) {
	notebook, _ := notebookFixture(t)
	checkModel(t, notebook.File)
	if errors := describe(notebook.File); len(errors) > 0 {
		t.Errorf("syntax errors %q", errors)
	}
	var numbers []int
	for _, cell := range notebook.Cells {
		numbers = append(numbers, cell.Number)
		if got := notebook.File.Text[cell.Start:cell.End]; len(got) != len(cell.Source) {
			t.Errorf("cell %d has %d bytes in the module and %d in the notebook", cell.Number, len(got), len(cell.Source))
		}
	}
	if diff := cmp.Diff([]int{2, 3, 5}, numbers); diff != "" {
		t.Errorf("code cells: %s", diff)
	}
	item := strings.Index(notebook.File.Text, "loss.item()")
	if cell, line := notebook.Position(item); cell != 3 || line != 6 {
		t.Errorf("loss.item() is at cell %d, line %d; want 3, 6", cell, line)
	}
	if offset, ok := notebook.Offset(3, 6); !ok || notebook.File.LineText(notebook.File.Line(offset)) != "    print(\"é\", loss.item())" {
		t.Errorf("cell 3 line 6 is at %d, %v", offset, ok)
	}
	if _, ok := notebook.Offset(1, 1); ok {
		t.Error("a Markdown cell has no offset")
	}
}

func TestNotebookReplace(t *testing.T) {
	notebook, data := notebookFixture(t)
	text := notebook.File.Text
	at := func(part string) Span {
		start := strings.Index(text, part)
		if start < 0 {
			t.Fatalf("no %q", part)
		}
		return Span{start, start + len(part)}
	}
	before := func(part string) Span { span := at(part); return Span{span.Start, span.Start} }
	for _, test := range []struct {
		name     string
		edits    []Replacement
		from, to string // what changes in the JSON
	}{
		{"inside a line", []Replacement{{at("batch_size=8"), "batch_size=8, pin_memory=True"}}, "batch_size=8", "batch_size=8, pin_memory=True"},
		{"quotes", []Replacement{{at("\"é\""), "'\"'"}}, `\"é\"`, `'\"'`},
		{"a new line", []Replacement{{before("optimizer.step()"), "x = 1\n    "}}, `"    optimizer.step()\n",`, "\"    x = 1\\n\",\n    \"    optimizer.step()\\n\","},
		{"a deleted line", []Replacement{{at("    optimizer.zero_grad()\n"), ""}}, "    \"    optimizer.zero_grad()\\n\",\n", ""},
		{"joined lines", []Replacement{{at("loss.backward()\n    optimizer.step()"), "train()"}}, "loss.backward()\\n\",\n    \"    optimizer.step()", "train()"},
		{"at the cell's end", []Replacement{{before("\nfor x in loader"), "\ny = 2"}}, `"torch.manual_seed(0)"`, "\"torch.manual_seed(0)\\n\",\n    \"y = 2\""},
		{"single string source", []Replacement{{at("final = 1"), "final = 2\nlast = 3"}}, `final = 1`, `final = 2\nlast = 3`},
		{"none", nil, "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := notebook.Replace(test.edits)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Replace(string(data), test.from, test.to, 1), string(got)); diff != "" {
				t.Error(diff)
			}
			if !json.Valid(got) {
				t.Error("the result is no JSON")
			}
		})
	}
	for name, edit := range map[string]Replacement{
		"a magic":       {at("pass              "), "x"},
		"two cells":     {at("torch.manual_seed(0)\nfor x"), "x"},
		"past the text": {Span{len(text), len(text) + 1}, "x"},
	} {
		if _, err := notebook.Replace([]Replacement{edit}); err == nil {
			t.Errorf("%s: the edit is not refused", name)
		}
	}
}

// TestNotebookReplaceRoundTrip: whatever is edited, reading the result gives the edited source.
func TestNotebookReplaceRoundTrip(t *testing.T) {
	notebook, data := notebookFixture(t)
	rapid.Check(t, func(t *rapid.T) {
		cell := rapid.SampledFrom(notebook.Cells).Draw(t, "cell")
		start := rapid.IntRange(0, len(cell.Source)).Draw(t, "start")
		end := rapid.IntRange(start, min(len(cell.Source), start+40)).Draw(t, "end")
		boundary := func(at int) bool { return at == len(cell.Source) || cell.Source[at]&0xC0 != 0x80 }
		if !boundary(start) || !boundary(end) {
			return
		}
		text := rapid.StringMatching(`[a-z"\\é\n\t]{0,12}`).Draw(t, "text")
		got, err := notebook.Replace([]Replacement{{Span{cell.Start + start, cell.Start + end}, text}})
		if err != nil {
			return // a magic
		}
		edited, err := ParseNotebook("train.ipynb", got)
		if err != nil {
			t.Fatalf("%v\n%s", err, got)
		}
		want := cell.Source[:start] + text + cell.Source[end:]
		for _, other := range edited.Cells {
			if other.Number == cell.Number && other.Source != want {
				t.Fatalf("cell %d is %q, want %q", cell.Number, other.Source, want)
			}
		}
		if start == end && text == "" && string(got) != string(data) {
			t.Fatal("an empty edit changed the notebook")
		}
	})
}

func TestNotNotebooks(t *testing.T) {
	for name, data := range map[string]string{
		"empty": "", "not JSON": "x = 1", "a list": "[]", "no cells": `{"a": 1}`, "cut": `{"cells": [{"cell_type": "code"`,
		"cells of a wrong kind": `{"cells": 3}`, "source of a wrong kind": `{"cells": [{"cell_type": "code", "source": [1]}]}`,
		"another language": `{"cells": [], "metadata": {"language_info": {"name": "julia"}}}`,
	} {
		if _, err := ParseNotebook("x.ipynb", []byte(data)); err == nil || !strings.HasPrefix(err.Error(), "x.ipynb: ") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func FuzzParseNotebook(f *testing.F) {
	data, err := os.ReadFile("testdata/train.ipynb")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"cells":[{"source":"\ud83d\ude00\u00e9%x","cell_type":"code"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		notebook, err := ParseNotebook("x.ipynb", data)
		if err != nil {
			return
		}
		checkModel(t, notebook.File)
		if got, err := notebook.Replace(nil); err != nil || string(got) != string(data) {
			t.Fatal("no edits changed the notebook")
		}
	})
}
