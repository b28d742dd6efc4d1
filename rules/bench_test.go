package rules_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"stepline/pyscan"
	"stepline/rules"
	"stepline/rules/catalog"
)

// BenchmarkProject lints the Python files of the folder named by STEPLINE_CORPUS as one project, once per iteration.
func BenchmarkProject(b *testing.B) {
	root := os.Getenv("STEPLINE_CORPUS")
	if root == "" {
		b.Skip("STEPLINE_CORPUS names no folder")
	}
	files := filesBelow(b, root)
	lines := 0
	for _, f := range files {
		lines += strings.Count(f.Text, "\n")
	}
	for b.Loop() {
		project := rules.NewProject(files)
		for _, f := range files {
			rules.Run(catalog.All(), rules.Target{File: f, Project: project}, rules.Config{})
		}
	}
	b.ReportMetric(float64(lines)*float64(b.N)/b.Elapsed().Seconds(), "lines/s")
}

// filesBelow parses the Python files below a folder.
func filesBelow(b *testing.B, root string) []*pyscan.File {
	var files []*pyscan.File
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".py") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		files = append(files, pyscan.Parse(filepath.ToSlash(rel), string(text)))
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return files
}

// keystrokeFiles are a file of 5,000 lines and 700 others.
func keystrokeFiles(b *testing.B) []*pyscan.File {
	path := os.Getenv("STEPLINE_FILE")
	var text string
	if path != "" {
		data, err := os.ReadFile(path)
		if err != nil {
			b.Fatal(err)
		}
		text = string(data)
	} else {
		data, err := os.ReadFile("../testdata/traces/gpt/gpt.py")
		if err != nil {
			b.Fatal(err)
		}
		for strings.Count(text, "\n") < 5000 {
			text += string(data)
		}
	}
	files := []*pyscan.File{pyscan.Parse("train.py", text)}
	for i := range 700 {
		files = append(files, pyscan.Parse(fmt.Sprintf("pkg/m%d/f%d.py", i%20, i), renamed(b, i)))
	}
	return files
}

// BenchmarkKeystroke lints one file anew in a project of 700 others, as an editor does after a change (parsing aside). The file is
// the one named by STEPLINE_FILE, or 5,000 lines of the shipped scripts; the others are the shipped script under other names.
func BenchmarkKeystroke(b *testing.B) {
	files := keystrokeFiles(b)
	text := files[0].Text
	project := rules.NewProject(files)
	for _, f := range files { // what an editor's first check has worked out
		rules.Run(catalog.All(), rules.Target{File: f, Project: project}, rules.Config{})
	}
	var cpu time.Duration // the timer measures the machine's load too
	for b.Loop() {
		b.StopTimer()
		file := pyscan.Parse("train.py", text)
		before := processTime()
		b.StartTimer()
		project = project.With(file)
		rules.Run(catalog.All(), rules.Target{File: file, Project: project}, rules.Config{})
		cpu += processTime() - before
	}
	b.ReportMetric(float64(cpu.Nanoseconds())/1e6/float64(b.N), "cpu-ms/op")
	b.ReportMetric(float64(strings.Count(text, "\n")), "lines")
}

// renamed is the shipped script with its functions and classes called anew, so that copies are as many programs.
func renamed(b *testing.B, i int) string {
	data, err := os.ReadFile("../testdata/traces/gpt/gpt.py")
	if err != nil {
		b.Fatal(err)
	}
	return definitions.ReplaceAllStringFunc(string(data), func(word string) string { return fmt.Sprintf("%s_%d", word, i) })
}

var definitions = regexp.MustCompile(`\b(CausalSelfAttention|FlashAttention|MLP|Layer|GPT|get_batch|grad_norm|train)\b`)

// typedLines are what BenchmarkTyping types, letter by letter, at the top of one function after the other.
var typedLines = []string{
	"scale = 1.0 / math.sqrt(q.size(-1))",
	"if step % 100 == 0:",
	"mask = torch.tril(torch.ones(t, t)).to(x.device)",
	"print(f\"loss {loss.item():.3f} at {step}\")  # what it costs is to be seen",
	"with torch.no_grad():",
	"logits = logits.float().masked_fill(~keep[:, None], float('-inf'))",
	"return x",
}

// BenchmarkTyping is a session of an editor: every letter is linted, by Edited where it can tell, else by a whole run. It tells the
// share of letters that needed a whole run.
func BenchmarkTyping(b *testing.B) {
	files := keystrokeFiles(b)
	project := rules.NewProject(files)
	base := files[0]
	text := base.Text
	_, live := rules.RunLive(catalog.All(), rules.Target{File: base, Project: project}, rules.Config{})
	var starts []int
	for _, fn := range base.Functions[1:] {
		if fn.Comprehension == nil && fn.Value == nil && len(fn.Body) > 0 {
			starts = append(starts, fn.Body[0].Range().Start)
		}
	}
	keys, whole, turn, letter := 0, 0, 0, 0
	at, line := 0, ""
	var slow, quick []float64
	for b.Loop() {
		if letter == len(line) {
			place := starts[len(starts)-1-turn*7%len(starts)]
			line, letter = typedLines[turn%len(typedLines)], 0
			at = place
			text = text[:at] + "\n" + strings.Repeat(" ", base.Column(place)) + text[at:]
			turn++
		}
		text = text[:at] + line[letter:letter+1] + text[at:]
		letter, at = letter+1, at+1
		keys++
		before := processTime()
		patch, ok := live.File().Patch(text)
		if ok {
			_, ok = live.Edited(patch)
		}
		if !ok {
			whole++
			file := pyscan.Parse("train.py", text)
			project = project.With(file)
			_, live = rules.RunLive(catalog.All(), rules.Target{File: file, Project: project}, rules.Config{})
			slow = append(slow, float64((processTime()-before).Microseconds())/1000)
		} else {
			quick = append(quick, float64((processTime()-before).Microseconds())/1000)
		}
	}
	b.ReportMetric(100*float64(whole)/float64(keys), "%-whole-runs")
	slices.Sort(quick)
	if len(quick) > 0 {
		b.ReportMetric(quick[len(quick)/2], "cpu-ms-p50-quick")
		b.ReportMetric(quick[len(quick)*95/100], "cpu-ms-p95-quick")
	}
}

// BenchmarkEdited lints what a letter typed into one function after the other changes, parsing included; the files are BenchmarkKeystroke's.
func BenchmarkEdited(b *testing.B) {
	files := keystrokeFiles(b)
	base, project := files[0], rules.NewProject(files)
	_, live := rules.RunLive(catalog.All(), rules.Target{File: base, Project: project}, rules.Config{})
	var texts []string
	for _, fn := range base.Functions[1:] {
		if fn.Comprehension == nil && fn.Value == nil && len(fn.Body) > 0 {
			at := fn.Body[0].Range().Start
			texts = append(texts, base.Text[:at]+"scale = 1.0 / math.sqrt(q.si\n"+strings.Repeat(" ", base.Column(at))+base.Text[at:])
		}
	}
	if len(texts) == 0 {
		b.Fatal("no functions")
	}
	i := 0
	for b.Loop() {
		patch, ok := base.Patch(texts[i%len(texts)])
		if !ok {
			b.Fatal("not patched")
		}
		if _, ok := live.Edited(patch); !ok {
			b.Fatalf("not linted: %q", patch.File.Text[patch.Parts[0].New.Start:patch.Parts[0].New.End])
		}
		i++
	}
}
