package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// outcome is what a user gets of one command.
type outcome struct {
	code        int
	out, errout string
}

// stepline runs a command line as a user in folder would, with environment over an empty one.
func stepline(t *testing.T, folder, stdin string, environment map[string]string, arguments ...string) outcome {
	t.Helper()
	t.Chdir(folder)
	var out, errout bytes.Buffer
	io := streams{in: strings.NewReader(stdin), out: &out, err: &errout, environment: func(name string) string { return environment[name] }}
	code := run(context.Background(), io, arguments)
	return outcome{code, out.String(), errout.String()}
}

// testdata is the absolute path of a file of the shared test data.
func testdata(t *testing.T, elements ...string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(append([]string{repository, "testdata"}, elements...)...))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	return path
}

// fitsSchema validates a document against docs/schema and returns it decoded.
func fitsSchema(t *testing.T, schema, document string) map[string]any {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(repository, "docs", "schema", schema+".schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := jsonschema.NewCompiler().Compile(path)
	if err != nil {
		t.Fatal(err)
	}
	var decoded map[string]any
	if err := json.Unmarshal([]byte(document), &decoded); err != nil {
		t.Fatalf("not JSON: %v\n%s", err, document)
	}
	if err := compiled.Validate(decoded); err != nil {
		t.Errorf("does not fit %s: %v", schema, err)
	}
	return decoded
}

// repository is the root of the checkout, found before any test changes the folder.
var repository = func() string {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		panic(err)
	}
	return root
}()

// oneLine fails unless text is one line of standard error that holds every part.
func oneLine(t *testing.T, text string, parts ...string) {
	t.Helper()
	if strings.Count(text, "\n") != 1 || !strings.HasPrefix(text, "stepline: ") {
		t.Errorf("want one line from stepline, got:\n%s", text)
	}
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in %q", part, text)
		}
	}
}

func TestWrongUsage(t *testing.T) {
	for _, test := range []struct {
		arguments []string
		says      string
	}{
		{[]string{"frobnicate"}, "--help"},
		{[]string{"reprot", "trace.json.gz"}, "did you mean `stepline report`?"},
		{[]string{"help", "nope"}, "unknown command \"nope\"; `stepline --help` lists the commands"},
		{[]string{"help", "chekc"}, "did you mean `stepline check`?"},
		{[]string{"help", "cache", "lst"}, "did you mean `stepline cache list`?"},
		{[]string{"help", "check", "train.py"}, "`stepline check` has no command \"train.py\""},
		{[]string{"man", "chekc"}, "did you mean `stepline check`?"},
		{[]string{"lines", "--top", "many", "trace.json.gz"}, "--top many: use a whole number"},
		{[]string{"record", "--cooldown", "5", "--", "true"}, "--cooldown 5: use a time with its unit"},
		{[]string{"record", "--steps", "0", "--", "true"}, "record 1 or more"},
		{[]string{"record", "--warmup", "-1", "--", "true"}, "--warmup -1"},
		{[]string{"rules", "--format", "xml"}, "text or json"},
		{[]string{"rules", "--color", "pink"}, "auto, always or never"},
		{[]string{"explain"}, "stepline explain SYN001"},
		{[]string{"explain", "SYN999"}, "stepline rules"},
		{[]string{"template"}, "stepline templates"},
		{[]string{"template", "fast"}, "quick, launch-bound"},
		{[]string{"template", "ddp", "--set", "gpus"}, "name=value"},
		{[]string{"template", "ddp", "--format", "json"}, "sh, python, yaml"},
		{[]string{"cache", "empty"}, "cache --help"},
		{[]string{"version", "--nonsense"}, "unknown flag: --nonsense"},
	} {
		t.Run(strings.Join(test.arguments, " "), func(t *testing.T) {
			got := stepline(t, t.TempDir(), "", nil, test.arguments...)
			if got.code != exitUsage || got.out != "" {
				t.Errorf("exit %d with output %q, want %d and none", got.code, got.out, exitUsage)
			}
			oneLine(t, got.errout, test.says)
		})
	}
}

// TestHelp: both ways to ask give the same page.
func TestHelp(t *testing.T) {
	for _, words := range [][]string{nil, {"check"}, {"cache", "list"}, {"help"}} {
		asked := stepline(t, t.TempDir(), "", nil, append([]string{"help"}, words...)...)
		flagged := stepline(t, t.TempDir(), "", nil, append(words, "--help")...)
		if asked.code != exitFine || asked.out == "" || asked != flagged {
			t.Errorf("help %v: exit %d, %q; with --help: exit %d, %q", words, asked.code, asked.out, flagged.code, flagged.out)
		}
	}
}

func TestVersionNamesTheProgram(t *testing.T) {
	for _, argument := range []string{"version", "--version"} {
		got := stepline(t, t.TempDir(), "", nil, argument)
		if got.code != exitFine || !strings.HasPrefix(got.out, "stepline ") || strings.Count(got.out, "\n") != 1 {
			t.Errorf("%s: exit %d: %q", argument, got.code, got.out)
		}
	}
}

// number writes a JSON number as people do.
func number(value any) string { return strconv.FormatFloat(value.(float64), 'f', -1, 64) }

// TestRecordPassesTheScriptsEnd: the exit code is the script's own; one that ran well and left nothing is told so.
func TestRecordPassesTheScriptsEnd(t *testing.T) {
	folder := t.TempDir()
	failed := stepline(t, folder, "", nil, "record", "-o", "runs", "--", "sh", "-c", "echo training; exit 7")
	if failed.code != 7 || failed.out != "training\n" {
		t.Errorf("exit %d with output %q, want the script's own 7 and its line", failed.code, failed.out)
	}
	nothing := stepline(t, folder, "", nil, "record", "-o", "runs", "--", "sh", "-c", "true")
	if nothing.code != exitUsage {
		t.Errorf("exit %d", nothing.code)
	}
	oneLine(t, nothing.errout, "nothing was recorded")
	missing := stepline(t, folder, "", nil, "record")
	if missing.code != exitUsage {
		t.Errorf("exit %d", missing.code)
	}
	oneLine(t, missing.errout, "stepline record -- python train.py")
}

// TestCache: a trace read once is listed with its path and gone after clear.
func TestCache(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	folder := testdata(t, "traces", "gpt")
	if empty := stepline(t, folder, "", nil, "cache"); empty.code != exitFine || !strings.Contains(empty.out, "No index is kept") {
		t.Errorf("exit %d: %s%s", empty.code, empty.out, empty.errout)
	}
	first := stepline(t, folder, "", nil, "lines", "trace.json.gz", "--format", "json")
	again := stepline(t, folder, "", nil, "lines", "trace.json.gz", "--format", "json")
	if first.code != exitFine || first.out != again.out {
		t.Error("the second open gives another answer than the first")
	}
	if list := stepline(t, folder, "", nil, "cache", "list"); !strings.Contains(list.out, filepath.Join(folder, "trace.json.gz")) {
		t.Errorf("the trace is not listed:\n%s", list.out)
	}
	if cleared := stepline(t, folder, "", nil, "cache", "clear"); !strings.HasPrefix(cleared.out, "removed 1 index, ") {
		t.Errorf("clear says %q", cleared.out)
	}
	if list := stepline(t, folder, "", nil, "cache", "list"); !strings.Contains(list.out, "No index is kept") {
		t.Errorf("still listed:\n%s", list.out)
	}
}
