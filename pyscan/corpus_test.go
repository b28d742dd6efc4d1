package pyscan

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestCorpusAgainstCPython compares the model with CPython's ast and code objects on every Python file under
// the folders of PYSCAN_CORPUS (a list like PATH). It is run by hand, on the standard library:
//
//	PYSCAN_CORPUS=$(python3 -c 'import os; print(os.path.dirname(os.__file__))') go test -run Corpus ./pyscan
//
// It needs CPython 3.9 or newer (before, ast has no places for keywords and slices). Nodes must agree in kind,
// start and end, frames in name and first line.
func TestCorpusAgainstCPython(t *testing.T) {
	roots := os.Getenv("PYSCAN_CORPUS")
	if roots == "" {
		t.Skip("PYSCAN_CORPUS is not set")
	}
	every, _ := strconv.Atoi(os.Getenv("PYSCAN_EVERY")) // a sample: every n-th file
	every = max(every, 1)
	seen := 0
	var paths []string
	for _, root := range filepath.SplitList(roots) {
		filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".py") && entry.Type().IsRegular() {
				if seen++; seen%every == 0 {
					paths = append(paths, path)
				}
			}
			return nil
		})
	}
	compared, failed := compareWithCPython(t, paths)
	t.Logf("%d files compared, %d differ", compared, failed)
	if compared == 0 {
		t.Error("nothing was compared")
	}
}

// TestSyntaxAgainstCPython is the same on this package's fixtures.
func TestSyntaxAgainstCPython(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.py")
	if err != nil {
		t.Fatal(err)
	}
	if compared, _ := compareWithCPython(t, paths); compared == 0 {
		t.Skip("no Python that compiles the fixtures")
	}
}

type cpythonModel struct {
	Path, Error   string
	Nodes, Frames []string
}

func compareWithCPython(t *testing.T, paths []string) (compared, failed int) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	cmd := exec.Command(python, "testdata/cpython_model.py")
	cmd.Stdin = strings.NewReader(strings.Join(paths, "\n"))
	cmd.Stderr = os.Stderr
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(output)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		var want cpythonModel
		if err := json.Unmarshal(line, &want); err != nil {
			t.Fatal(err)
		}
		if want.Error != "" {
			continue
		}
		text, err := os.ReadFile(want.Path)
		if err != nil {
			t.Fatal(err)
		}
		compared++
		file := Parse(want.Path, string(text))
		checkModel(t, file)
		nodes, frames := dumpLikeCPython(file)
		diff := cmp.Diff(want.Nodes, nodes, cmpopts.EquateEmpty())
		frameDiff := missing(want.Frames, frames)
		if diff != "" || frameDiff != "" || len(file.SyntaxErrors) > 0 {
			failed++
			if failed <= 10 {
				t.Errorf("%s: syntax errors %v\n%.1500s\nframes: %s", want.Path, describe(file), diff, frameDiff)
			}
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	return compared, failed
}

func describe(file *File) []string {
	var out []string
	for _, e := range file.SyntaxErrors {
		out = append(out, fmt.Sprintf("%d: %s", file.Line(e.Start), e.Message))
	}
	return out
}

// missing lists the frames of CPython that the model has not; the model may have more, for CPython drops
// code that cannot run.
func missing(want, got []string) string {
	var out []string
	for _, frame := range want {
		if _, found := slices.BinarySearch(got, frame); !found && !strings.Contains(frame, "<generic parameters") {
			out = append(out, frame)
		}
	}
	return strings.Join(out, ", ")
}

func dumpLikeCPython(file *File) (nodes, frames []string) {
	emit := func(format string, args ...any) { nodes = append(nodes, fmt.Sprintf(format, args...)) }
	formatted := 0
	var dump func(node Node)
	dump = func(node Node) {
		kind := reflect.TypeOf(node).Elem().Name()
		span := node.Range()
		switch n := node.(type) {
		case *FunctionDef:
			emit("FunctionDef line %d to %d", n.Function.DefLine, n.Function.LastLine)
		case *ClassDef:
			emit("ClassDef line %d to %d", file.Line(n.Class.NameSpan.Start), n.Class.LastLine)
		case *MatchCase:
			for _, child := range Children(&BadStmt{Stmts: n.Body}) {
				dump(child)
			}
			if n.Guard != nil {
				dump(n.Guard)
			}
			return
		case *Function, *Class, *WithItem, *ImportedName, *ForClause:
		case *Parameter:
			emit("arg %s", n.Name)
		default:
			if formatted > 0 {
				emit("f %s", kind)
			} else {
				emit("%s %d %d", kind, span.Start, span.End)
			}
		}
		switch n := node.(type) {
		case *Attribute:
			emit("attr %s", n.Attr)
		case *Import:
			for _, name := range n.Names {
				emit("import %d %s:%s %s", n.Level, n.Module, name.Name, name.Alias)
			}
		case *FString:
			formatted++
			defer func() { formatted-- }()
		}
		for _, child := range Children(node) {
			dump(child)
		}
	}
	for _, stmt := range file.Module.Body {
		dump(stmt)
	}
	for _, fn := range file.Functions[1:] {
		frames = append(frames, fmt.Sprintf("%d %s", fn.FirstLine, fn.Name))
	}
	slices.Sort(nodes)
	slices.Sort(frames)
	return nodes, frames
}
