package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
	"gopkg.in/yaml.v3"
)

// TestExamplesParse: the shell scripts, YAML, JSON and Python of the guides are at least that.
func TestExamplesParse(t *testing.T) {
	guides, err := filepath.Glob("../guides/*.md")
	if err != nil || len(guides) == 0 {
		t.Fatal("no guides", err)
	}
	checked := map[string]int{}
	for _, guide := range guides {
		source, err := os.ReadFile(guide)
		if err != nil {
			t.Fatal(err)
		}
		err = ast.Walk(markdown.Parser().Parse(text.NewReader(source)), func(node ast.Node, entering bool) (ast.WalkStatus, error) {
			block, ok := node.(*ast.FencedCodeBlock)
			if !ok || !entering {
				return ast.WalkContinue, nil
			}
			var code strings.Builder
			for i := range block.Lines().Len() {
				line := block.Lines().At(i)
				code.Write(line.Value(source))
			}
			language := string(block.Language(source))
			if err := parses(language, code.String()); err != nil {
				t.Errorf("%s: %v in\n%s", filepath.Base(guide), err, code.String())
			}
			checked[language]++
			return ast.WalkContinue, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, language := range []string{"sh", "python", "yaml"} {
		if checked[language] == 0 {
			t.Errorf("no example in %s among %v", language, checked)
		}
	}
}

func parses(language, code string) error {
	switch language {
	case "sh", "bash":
		return accepts(code, "bash", "-n")
	case "python":
		return accepts(code, "python3", "-c", "import ast, sys; ast.parse(sys.stdin.read())")
	case "json":
		return json.Unmarshal([]byte(code), new(any))
	case "yaml":
		for decoder := yaml.NewDecoder(strings.NewReader(code)); ; {
			if err := decoder.Decode(new(any)); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
		}
	}
	return nil
}

// accepts gives code to a program; one that is not installed accepts everything.
func accepts(code, program string, arguments ...string) error {
	if _, err := exec.LookPath(program); err != nil {
		return nil
	}
	command := exec.Command(program, arguments...)
	command.Stdin = strings.NewReader(code)
	if out, err := command.CombinedOutput(); err != nil {
		return errors.New(strings.TrimSpace(string(out)))
	}
	return nil
}
