package pyscan

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzParse checks that no text makes Parse panic or loop, and that the model keeps its guarantees.
func FuzzParse(f *testing.F) {
	paths, err := filepath.Glob("testdata/*.py")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
		for _, line := range strings.Split(string(text), "\n") {
			f.Add(line)
		}
	}
	for _, broken := range brokenSources {
		f.Add(broken.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		file := Parse("fuzz.py", text)
		checkModel(t, file)
		for offset := range len(text) {
			if fn := file.FunctionAt(offset); fn == nil || !fn.Contains(offset) {
				t.Fatalf("FunctionAt(%d) does not hold it", offset)
			}
			if stmt := file.StatementAt(offset); stmt != nil && !stmt.Range().Contains(offset) {
				t.Fatalf("StatementAt(%d) does not hold it", offset)
			}
		}
		for line := 1; line <= file.LineCount(); line++ {
			file.StatementsAtLine(line)
		}
	})
}

// TestMutatedSources cuts, doubles and swaps pieces of real sources: what an editor sees between keystrokes.
func TestMutatedSources(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.py")
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"(", ")", "[", "]", "{", "}", "'", `"""`, "f'", ":", "\n", "    ", "\t", ",", "=", "def ", "class ", "\\", "lambda ", "for ", " if ", "else", "@", "*", "**", "\r", "\x00", "é", "case ", "match x:", ";", ".", "#", "async "}
	rounds := 400
	if testing.Short() {
		rounds = 40
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for range rounds {
			mutated := string(text)
			for range 1 + random.IntN(4) {
				from := random.IntN(len(mutated))
				to := min(len(mutated), from+random.IntN(12))
				switch random.IntN(3) {
				case 0:
					mutated = mutated[:from] + mutated[to:]
				case 1:
					mutated = mutated[:from] + pieces[random.IntN(len(pieces))] + mutated[from:]
				default:
					mutated = mutated[:from] + mutated[from:to] + mutated[from:]
				}
			}
			checkModel(t, Parse("mutated.py", mutated))
			if t.Failed() {
				t.Fatalf("%q", mutated)
			}
		}
	}
}
