package rules_test

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"stepline/pyscan"
	"stepline/rules"
	"stepline/rules/catalog"
)

// shared are small files that ask of each other what rules ask across files: who calls what with which values and in which loop,
// which loaders a dataset has, what is compiled, who imports what.
var shared = map[string]string{
	"lib/__init__.py": "from .steps import one_step, log\nfrom .data import Items\n",
	"lib/steps.py": `import torch

def log(value, step):
    print(step, value.item())

def one_step(model, batch, optimizer):
    loss = model(batch).mean()
    loss.backward()
    optimizer.step()
    return loss

class Base(torch.nn.Module):
    def forward(self, x):
        x = self.layer(x)
        if x.sum() > 0:
            print(x)
        return x
`,
	"lib/data.py": `import json
import torch
from torch.utils.data import Dataset

class Items(Dataset):
    def __init__(self):
        self.items = json.load(open("items.json"))

    def __getitem__(self, i):
        return decode(self.items[i])

def decode(item):
    x = torch.tensor(item)
    torch.cuda.synchronize()
    return x.cuda()

def collate(items):
    return torch.nn.utils.rnn.pad_sequence(items)
`,
	"lib/nets.py": `import torch
from .steps import Base

class Net(Base):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 8)
        self.conv = torch.nn.Conv2d(3, 3, 3)
        self.count = 0

def build(device):
    net = Net().to(device)
    return net
`,
	"run.py": `import torch
from torch.utils.data import DataLoader
from lib import one_step, log, Items
from lib.nets import build

def main():
    net = build("cuda")
    net = torch.compile(net)
    optimizer = torch.optim.AdamW(net.parameters())
    loader = DataLoader(Items(), batch_size=8, num_workers=2)
    for epoch in range(3):
        for step, batch in enumerate(loader):
            loss = one_step(net, batch.cuda(), optimizer)
            log(loss, step)

if __name__ == "__main__":
    main()
`,
	"eval.py": `import torch
from lib.nets import build
from lib.steps import log
import lib.data as data

@torch.no_grad()
def evaluate(loader):
    net = build("cpu").to(memory_format=torch.channels_last)
    for step, batch in enumerate(loader):
        log(net(batch), step)
        if step % 10 == 0:
            log(data.decode(batch), step)
`,
	"aside.py": "import torch\n\ndef main(x):\n    y = x.cuda()\n    return y.item()\n",
}

var word = regexp.MustCompile(`[A-Za-z_]\w*`)

// edited is a text after one random edit, which may take words and lines of another text.
func edited(t *rapid.T, text, other string) string {
	lines := strings.SplitAfter(text, "\n")
	at := rapid.IntRange(0, len(lines)-1).Draw(t, "line")
	switch rapid.SampledFrom([]string{"type", "cut", "line", "copy", "word", "word"}).Draw(t, "edit") {
	case "type":
		start := rapid.IntRange(0, len(text)).Draw(t, "start")
		return text[:start] + rapid.SampledFrom(typed).Draw(t, "typed") + text[start:]
	case "cut":
		start := rapid.IntRange(0, len(text)).Draw(t, "start")
		return text[:start] + text[min(len(text), start+rapid.SampledFrom([]int{1, 3, 30, 200}).Draw(t, "cut")):]
	case "line":
		return strings.Join(slices.Delete(slices.Clone(lines), at, at+1), "")
	case "copy":
		return strings.Join(slices.Insert(slices.Clone(lines), at, rapid.SampledFrom(strings.SplitAfter(other, "\n")).Draw(t, "copied")), "")
	}
	words := word.FindAllStringIndex(text, -1)
	if len(words) == 0 {
		return text
	}
	w := rapid.SampledFrom(words).Draw(t, "word")
	return text[:w[0]] + rapid.SampledFrom(append(word.FindAllString(other, -1), "x")).Draw(t, "by") + text[w[1]:]
}

// TestResultsThatHold: after any edits of a project, also files that come and go, a result that says it holds is what a run over
// a new project of the same texts finds. The files are small ones that use each other, and real training scripts beside them.
func TestResultsThatHold(t *testing.T) {
	scripts, err := filepath.Glob("../testdata/traces/*/*.py")
	if err != nil || len(scripts) < 5 {
		t.Fatalf("%d scripts: %v", len(scripts), err)
	}
	held, asked := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		texts := maps.Clone(shared)
		if rapid.Bool().Draw(t, "with real files") {
			texts["train.py"] = "from lib.steps import *\nfrom lib import log\n" + script(t, rapid.SampledFrom(scripts).Draw(t, "train.py"))
			texts["evaluate.py"] = "from train import main, train\nfrom lib import Items\n" + script(t, rapid.SampledFrom(scripts).Draw(t, "evaluate.py"))
		}
		files := map[string]*pyscan.File{}
		for path, text := range texts {
			files[path] = pyscan.Parse(path, text)
		}
		project := rules.NewProject(slices.Collect(maps.Values(files)))
		run := func(project *rules.Project, file *pyscan.File) rules.Result {
			return rules.Run(catalog.All(), rules.Target{File: file, Project: project}, rules.Config{})
		}
		known := map[*pyscan.File]rules.Result{}
		for _, path := range slices.Sorted(maps.Keys(texts)) {
			known[files[path]] = run(project, files[path])
		}
		for range rapid.IntRange(1, 4).Draw(t, "edits") {
			paths := slices.Sorted(maps.Keys(texts))
			path := rapid.SampledFrom(paths).Draw(t, "file")
			switch rapid.SampledFrom([]string{"edit", "edit", "edit", "edit", "edit", "away", "new", "many"}).Draw(t, "what") {
			case "edit":
				texts[path] = edited(t, texts[path], texts[rapid.SampledFrom(paths).Draw(t, "other")])
				files[path] = pyscan.Parse(path, texts[path])
				project = project.With(files[path])
			case "away":
				if len(texts) > 2 {
					delete(texts, path)
					delete(files, path)
					project = project.Without(path)
				}
			case "new":
				path = rapid.SampledFrom([]string{"lib/new.py", "a.py", "torch.py", "lib/lib.py", "steps.py"}).Draw(t, "new file")
				texts[path] = texts[rapid.SampledFrom(paths).Draw(t, "as")]
				files[path] = pyscan.Parse(path, texts[path])
				project = project.With(files[path])
			case "many":
				for _, path := range rapid.SliceOfN(rapid.SampledFrom(paths), 1, 3).Draw(t, "files") {
					texts[path] = edited(t, texts[path], texts[path])
					files[path] = pyscan.Parse(path, texts[path])
				}
				project = project.Holding(slices.Collect(maps.Values(files)))
			}
			if rapid.Bool().Draw(t, "typed on") { // the next edit comes before anybody asks
				continue
			}
			anew := map[string]*pyscan.File{}
			for path, text := range texts {
				anew[path] = pyscan.Parse(path, text)
			}
			fresh := rules.NewProject(slices.Collect(maps.Values(anew)))
			for _, path := range slices.Sorted(maps.Keys(texts)) {
				file := files[path]
				result, ok := known[file]
				asked++
				if holds := result.Depends.Holds(project); holds {
					held++
				} else {
					result = run(project, file)
				}
				known[file] = result
				if diff := cmp.Diff(described(run(fresh, anew[path])), described(result)); diff != "" {
					t.Fatalf("%s after the edits (known %v) (-new project +edited):\n%s", path, ok, diff)
				}
			}
		}
	})
	if held*4 < asked {
		t.Errorf("only %d of %d results held", held, asked)
	}
	t.Logf("%d of %d results held", held, asked)
}
