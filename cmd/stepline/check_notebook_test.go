package main

import (
	"strings"
	"testing"
)

// notebook is copyUnpinned over three cells with a magic and Markdown between, in Jupyter's own layout and one line of JSON
// that no writer would make.
const notebook = `{
 "cells": [
  {
   "cell_type": "code",
   "execution_count": 1,
   "metadata": {},
   "outputs": [],
   "source": [
    "%matplotlib inline\n",
    "import torch\n",
    "from torch.utils.data import DataLoader\n",
    "loader = DataLoader(dataset, batch_size=8, num_workers=4)  # \u00e9 \ud83d\ude00"
   ]
  },
  {"cell_type": "markdown",   "metadata": {}, "source": ["# Training"]},
  {
   "cell_type": "code",
   "execution_count": null,
   "metadata": {},
   "outputs": [],
   "source": [
    "model = torch.nn.Linear(8, 8).cuda()\n",
    "for x, y in loader:\n",
    "    x = x.cuda(non_blocking=True)\n",
    "    loss = torch.nn.functional.cross_entropy(model(x), y.cuda())\n",
    "    loss.backward()\n",
    "    opt.step()\n",
    "    print(loss.item())\n"
   ]
  }
 ],
 "metadata": {"language_info": {"name": "python"}},
 "nbformat": 4,
 "nbformat_minor": 5
}
`

func TestCheckNotebook(t *testing.T) {
	folder := project(t, map[string]string{"explore.ipynb": notebook})
	got := stepline(t, folder, "", nil, "check", "--format", "json", "--select", "XFR001,SYN001")
	var places []string
	for _, each := range fitsSchema(t, "check", got.out)["findings"].([]any) {
		row := each.(map[string]any)
		places = append(places, row["rule"].(string)+" "+number(row["cell"])+":"+number(row["line"])+":"+number(row["column"]))
	}
	if got.code != exitFindings || len(places) == 0 || places[0] != "XFR001 3:3:9" || places[len(places)-1] != "SYN001 3:7:11" {
		t.Errorf("exit %d, findings at %v: %s", got.code, places, got.errout)
	}
	text := stepline(t, folder, "", nil, "check", "--select", "SYN001")
	if !strings.Contains(text.out, "explore.ipynb:cell 3:7:11: warning SYN001") || !strings.Contains(text.out, "    7 |     print(loss.item())") {
		t.Errorf("no place in the cell:\n%s", text.out)
	}
	mended := stepline(t, folder, "", nil, "check", "--fix", "--select", "XFR001")
	if mended.code != exitFine {
		t.Errorf("exit %d: %s%s", mended.code, mended.out, mended.errout)
	}
	want := strings.Replace(notebook, "num_workers=4)", "num_workers=4, pin_memory=True)", 1)
	if after := read(t, folder, "explore.ipynb"); after != want {
		t.Errorf("the rest of the notebook must stay byte for byte, got:\n%s", after)
	}
}

func TestCheckFileThatIsNoNotebook(t *testing.T) {
	folder := project(t, map[string]string{"broken.ipynb": `{"cells": 3}`, "train.py": loopWithItem})
	got := stepline(t, folder, "", nil, "check", "--format", "json", "--select", "SYN001")
	if list := findingsOf(t, got.out); len(list) != 1 || got.code != exitFindings {
		t.Errorf("exit %d, the other file must be checked: %v", got.code, list)
	}
	oneLine(t, got.errout, "broken.ipynb", "not checked")
}
