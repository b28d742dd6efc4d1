package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"
)

// loopWithItem breaks SYN001 on its last line and nothing else.
const loopWithItem = `import torch
torch.set_float32_matmul_precision("high")
model = torch.nn.Linear(8, 8).cuda()
opt = torch.optim.SGD(model.parameters(), lr=0.1, fused=True)
total = 0.0
for batch in range(1000):
    loss = model(torch.zeros(8, 8, device="cuda")).sum()
    loss.backward()
    opt.step()
    opt.zero_grad()
    total += loss.item()
`

// copyUnpinned has a loader whose memory could be pinned: XFR001, with a safe fix.
const copyUnpinned = `import torch
from torch.utils.data import DataLoader


def main(dataset, model, opt):
    loader = DataLoader(dataset, batch_size=8, num_workers=4)
    for x, y in loader:
        x = x.cuda(non_blocking=True)
        y = y.cuda(non_blocking=True)
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        opt.step()
        opt.zero_grad()
`

// project writes files into a fresh folder.
func project(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func read(t *testing.T, elements ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(elements...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// findingsOf are "file:line rule" of a check's JSON.
func findingsOf(t *testing.T, document string) []string {
	t.Helper()
	var list []string
	for _, each := range fitsSchema(t, "check", document)["findings"].([]any) {
		row := each.(map[string]any)
		list = append(list, row["file"].(string)+":"+number(row["line"])+" "+row["rule"].(string))
	}
	return list
}

func TestCheckFindsAndExits(t *testing.T) {
	folder := project(t, map[string]string{
		"train.py": loopWithItem, "clean.py": "print('fine')\n", ".venv/lib.py": loopWithItem,
		".git/HEAD": "", ".gitignore": "build/\n", "build/made.py": loopWithItem,
	})
	for _, test := range []struct {
		name      string
		arguments []string
		code      int
		want      []string
	}{
		{"a folder", nil, exitFindings, []string{"train.py:11 SYN001"}},
		{"a file", []string{"train.py"}, exitFindings, []string{"train.py:11 SYN001"}},
		{"a file named twice", []string{"train.py", "./train.py", ".", filepath.Join(folder, "train.py")}, exitFindings, []string{"train.py:11 SYN001"}},
		{"a folder that git ignores", []string{"build"}, exitFindings, []string{"build/made.py:11 SYN001"}},
		{"a file that git ignores", []string{"build/made.py"}, exitFindings, []string{"build/made.py:11 SYN001"}},
		{"a clean file", []string{"clean.py"}, exitFine, nil},
		{"exit zero", []string{"--exit-zero"}, exitFine, []string{"train.py:11 SYN001"}},
		{"ignored", []string{"--ignore", "SYN001"}, exitFine, nil},
		{"ignored by prefix, in a list", []string{"--ignore", "AMP,SYN"}, exitFine, nil},
		{"others selected", []string{"--select", "XFR001"}, exitFine, nil},
		{"selected", []string{"--select", "SYN001"}, exitFindings, []string{"train.py:11 SYN001"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := stepline(t, folder, "", nil, append([]string{"check", "--format", "json"}, test.arguments...)...)
			if got.code != test.code || got.errout != "" {
				t.Errorf("exit %d, want %d: %s", got.code, test.code, got.errout)
			}
			if list := findingsOf(t, got.out); strings.Join(list, "; ") != strings.Join(test.want, "; ") {
				t.Errorf("found %v, want %v", list, test.want)
			}
		})
	}
}

func TestCheckFormats(t *testing.T) {
	folder := project(t, map[string]string{"train.py": loopWithItem})
	text := stepline(t, folder, "", map[string]string{"COLUMNS": "100"}, "check")
	for _, part := range []string{"train.py:11:14: warning SYN001 item-in-loop", "   11 |     total += loss.item()", "      |              ^^^^^^^^^^^", "1 finding in 1 file: 1 warning."} {
		if !strings.Contains(text.out, part) {
			t.Errorf("%q is not in:\n%s", part, text.out)
		}
	}
	github := stepline(t, folder, "", nil, "check", "--format", "github")
	if !strings.HasPrefix(github.out, "::warning file=train.py,line=11,col=14,endColumn=25,title=stepline SYN001 item-in-loop::") {
		t.Errorf("no GitHub annotation: %s", github.out)
	}
	sarifOutput := stepline(t, folder, "", nil, "check", "--format", "sarif")
	document, err := sarif.FromString(sarifOutput.out)
	if err != nil {
		t.Fatal(err)
	}
	if err := document.Validate(); err != nil {
		t.Errorf("not SARIF 2.1.0: %v", err)
	}
	statistics := stepline(t, folder, "", nil, "check", "--statistics")
	if !strings.HasPrefix(statistics.out, "     1  SYN001  item-in-loop") {
		t.Errorf("no statistics: %s", statistics.out)
	}
}

func TestCheckStandardInput(t *testing.T) {
	folder := project(t, nil)
	got := stepline(t, folder, loopWithItem, nil, "check", "-", "--format", "json", "--stdin-filename", "src/train.py")
	if list := findingsOf(t, got.out); got.code != exitFindings || len(list) != 1 || list[0] != "src/train.py:11 SYN001" {
		t.Errorf("exit %d, found %v: %s", got.code, list, got.errout)
	}
	mended := stepline(t, folder, copyUnpinned, nil, "check", "-", "--fix", "--select", "XFR001")
	if mended.code != exitFine || !strings.Contains(mended.out, "pin_memory=True") || strings.Contains(mended.out, "finding") {
		t.Errorf("exit %d; want the mended text alone on standard output:\n%s", mended.code, mended.out)
	}
	binary := stepline(t, folder, "a\x00b", nil, "check", "-")
	if binary.code != exitUsage {
		t.Errorf("exit %d", binary.code)
	}
	oneLine(t, binary.errout, "standard input", "binary")
}

func TestCheckFix(t *testing.T) {
	folder := project(t, map[string]string{"src/train.py": copyUnpinned})
	patch := stepline(t, folder, "", nil, "check", "--diff", "--select", "XFR001")
	if patch.code != exitFindings || !strings.Contains(patch.out, "+    loader = DataLoader(dataset, batch_size=8, num_workers=4, pin_memory=True)") {
		t.Fatalf("exit %d: %s%s", patch.code, patch.out, patch.errout)
	}
	if read(t, folder, "src/train.py") != copyUnpinned {
		t.Fatal("--diff wrote a file")
	}
	got := stepline(t, folder, "", nil, "check", "--fix", "--select", "XFR001")
	if got.code != exitFine || !strings.Contains(got.out, "No findings") || !strings.Contains(got.errout, "mended 2 findings in 1 file") {
		t.Errorf("exit %d: %s%s", got.code, got.out, got.errout)
	}
	mended := read(t, folder, "src/train.py")

	if err := os.WriteFile(filepath.Join(folder, "src", "train.py"), []byte(copyUnpinned), 0o644); err != nil {
		t.Fatal(err)
	}
	apply := exec.Command("git", "apply", "-")
	apply.Dir, apply.Stdin = folder, strings.NewReader(patch.out)
	if output, err := apply.CombinedOutput(); err != nil {
		t.Fatalf("git apply: %v: %s", err, output)
	}
	if patched := read(t, folder, "src/train.py"); patched != mended {
		t.Errorf("the patch gives another text than --fix:\n%s\n---\n%s", patched, mended)
	}
	again := stepline(t, folder, "", nil, "check", "--fix", "--select", "XFR001")
	if again.code != exitFine || read(t, folder, "src/train.py") != mended {
		t.Errorf("mending again changed something: %s", again.out)
	}
}

func TestCheckAddIgnore(t *testing.T) {
	folder := project(t, map[string]string{"train.py": loopWithItem})
	got := stepline(t, folder, "", nil, "check", "--add-ignore", "--select", "SYN001")
	if got.code != exitFine {
		t.Errorf("exit %d: %s%s", got.code, got.out, got.errout)
	}
	if text := read(t, folder, "train.py"); !strings.Contains(text, "    total += loss.item()  # stepline: ignore[SYN001]\n") {
		t.Errorf("no ignore comment:\n%s", text)
	}
	if after := stepline(t, folder, "", nil, "check", "--select", "SYN001"); after.code != exitFine {
		t.Errorf("still found: %s", after.out)
	}
}

func TestCheckBadInput(t *testing.T) {
	folder := project(t, map[string]string{
		"broken.py":   "import torch\ndef f(:\n    pass\n\n" + strings.TrimPrefix(loopWithItem, "import torch\n"),
		"latin.py":    "x = 'caf\xe9'\n",
		"train.py":    loopWithItem,
		"vocab.json":  `{"traceEvents": 17}`,
		"empty/a.txt": "",
	})
	t.Run("a path that is not there", func(t *testing.T) {
		got := stepline(t, folder, "", nil, "check", "nowhere.py", "train.py")
		if got.code != exitUsage || !strings.Contains(got.out, "SYN001") {
			t.Errorf("exit %d; the file that is there must be checked: %s", got.code, got.out)
		}
		oneLine(t, got.errout, "nowhere.py: no such file or folder")
	})
	t.Run("a file that cannot be read", func(t *testing.T) {
		if err := os.Symlink("itself.py", filepath.Join(folder, "itself.py")); err != nil {
			t.Skip(err) // links need a privilege on Windows
		}
		defer os.Remove(filepath.Join(folder, "itself.py"))
		got := stepline(t, folder, "", nil, "check", "itself.py", "train.py", "--exit-zero")
		if got.code != exitUsage || !strings.Contains(got.out, "SYN001") {
			t.Errorf("exit %d; the other file must be checked: %s", got.code, got.out)
		}
		oneLine(t, got.errout, "itself.py: cannot be read: ", "make it readable or leave it out")
	})
	t.Run("a folder with nothing to check", func(t *testing.T) {
		got := stepline(t, folder, "", nil, "check", "empty", "--format", "json")
		if list := findingsOf(t, got.out); got.code != exitFine || len(list) != 0 {
			t.Errorf("exit %d: %v", got.code, list)
		}
		oneLine(t, got.errout, "warning: empty: nothing to check: no Python file or notebook in it")
	})
	t.Run("a script that does not parse", func(t *testing.T) {
		got := stepline(t, folder, "", nil, "check", "broken.py", "--format", "json")
		if list := findingsOf(t, got.out); len(list) != 1 || !strings.HasSuffix(list[0], "SYN001") {
			t.Errorf("the rest of the file must be checked, found %v", list)
		}
		oneLine(t, got.errout, "warning: broken.py:2", "does not parse")
	})
	t.Run("a file that is no UTF-8", func(t *testing.T) {
		got := stepline(t, folder, "", nil, "check", "latin.py")
		if got.code != exitFine {
			t.Errorf("exit %d", got.code)
		}
		oneLine(t, got.errout, "latin.py", "not UTF-8", "byte 8")
	})
	t.Run("a trace that is none", func(t *testing.T) {
		got := stepline(t, folder, "", nil, "check", "train.py", "--trace", "vocab.json")
		if got.code != exitUsage || !strings.Contains(got.out, "SYN001") {
			t.Errorf("exit %d; the lint must be printed all the same: %s", got.code, got.out)
		}
		oneLine(t, got.errout, "vocab.json")
	})
	for _, test := range []struct {
		arguments []string
		says      string
	}{
		{[]string{"--format", "xml"}, "text, json, sarif, github or gitlab"},
		{[]string{"--select", "NOPE9"}, "NOPE9"},
		{[]string{"-", "train.py"}, "no other path"},
		{[]string{"--unsafe-fixes"}, "--fix or --diff"},
		{[]string{"--add-ignore", "--fix"}, "one after the other"},
	} {
		t.Run(strings.Join(test.arguments, " "), func(t *testing.T) {
			got := stepline(t, folder, "", nil, append([]string{"check"}, test.arguments...)...)
			if got.code != exitUsage || got.out != "" {
				t.Errorf("exit %d with output %q", got.code, got.out)
			}
			oneLine(t, got.errout, test.says)
		})
	}
	for _, test := range []struct{ name, settings, says string }{
		{"wrong kind", "[rules]\nselect = 3\n", "stepline.toml:2: rules.select"},
		{"no such rule", "\n[rules]\nignore = [\"SYN\", \"NOPE\"]\n", "stepline.toml:3: rules.ignore: no rule"},
		{"no such rule to ignore", "[rules]\nper-file-ignores = { \"tests/*\" = [\"NOPE\"] }\n", "stepline.toml:2: rules.per-file-ignores.tests/*: no rule"},
		{"no glob", "[rules.per-file-ignores]\n\"a\" = [\"SYN\"]\n\"[\" = [\"SYN\"]\n", "stepline.toml:3: rules.per-file-ignores.[: not a valid glob"},
	} {
		t.Run("a settings file with a mistake: "+test.name, func(t *testing.T) {
			folder := project(t, map[string]string{"train.py": loopWithItem, "stepline.toml": test.settings})
			got := stepline(t, folder, "", nil, "check")
			if got.code != exitUsage || got.out != "" {
				t.Errorf("exit %d with output %q", got.code, got.out)
			}
			oneLine(t, got.errout, test.says)
		})
	}
}

// TestCheckWithTrace prices the planted mistakes of the gpt script.
func TestCheckWithTrace(t *testing.T) {
	got := stepline(t, testdata(t, "traces", "gpt"), "", nil, "check", "gpt.py", "--trace", "trace.json.gz", "--format", "json")
	if got.code != exitFindings {
		t.Fatalf("exit %d: %s", got.code, got.errout)
	}
	verdicts := map[string]int{}
	for _, each := range fitsSchema(t, "check", got.out)["findings"].([]any) {
		row := each.(map[string]any)
		verdict, _ := row["verdict"].(string)
		verdicts[verdict]++
		if verdict == "refuted" && row["severity"] != "hint" {
			t.Errorf("a refuted finding must be a hint: %v", row)
		}
		if verdict == "confirmed" && row["cost_us_per_step"].(float64) > row["cost_high_us_per_step"].(float64) {
			t.Errorf("the lower end is over the upper: %v", row)
		}
	}
	if verdicts["confirmed"] == 0 {
		t.Errorf("nothing confirmed: %v", verdicts)
	}
}
