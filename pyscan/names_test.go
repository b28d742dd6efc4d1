package pyscan

import "testing"

// exprAt is the largest expression whose source is text, searched from the first statement on.
func exprAt(t *testing.T, file *File, text string) Expr {
	t.Helper()
	var found Expr
	Walk(file.Module, func(node Node) bool {
		if e, ok := node.(Expr); ok && found == nil && file.Source(e) == text {
			found = e
		}
		return found == nil
	})
	if found == nil {
		t.Fatalf("no expression %q", text)
	}
	return found
}

const namesSource = `
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.utils.data
from torch.cuda.amp import autocast as cast, GradScaler
from .models import GPT
from ..lib import tools as t
from helpers import *
try:
    import apex
except ImportError:
    apex = None

relu = F.relu
zeros = torch.zeros

class Net(nn.Module):
    width: int = 3
    def __init__(this, n):
        this.fc = nn.Linear(n, n)
        this.layers = nn.ModuleList()
        this.a, this.b = nn.ReLU(), 2
        for i in range(n):
            this.layers.append(nn.Linear(n, n))

    def forward(this, x):
        fc = this.fc
        y = fc(x)
        F = x.shape
        z = F.relu(y)
        relu(y)
        return x.view(1)[0].item() + (y + z).sum()

    @staticmethod
    def helper(s):
        s.thing()

def run(model):
    import torch.optim as optim
    opt = optim.AdamW(model.parameters())
    step = opt.step
    step()
    with cast():
        zeros(3)
    GPT.load()
    t.go()
    tools.went()
    torch.utils.data.DataLoader(model)
    out = [model for model in range(3)]
    if (n := 10) > 5:
        n.bit_length()
    total = 0
    total += 1
    a, b = model(1)
    def inner():
        nonlocal total
        global relu
        relu = total
    return out
`

func TestPathOf(t *testing.T) {
	file := Parse("names.py", namesSource)
	for source, want := range map[string]string{
		"torch.zeros":                 "torch.zeros",
		"nn.Module":                   "torch.nn.Module",
		"nn.Linear(n, n)":             "torch.nn.Linear()",
		"this.layers.append":          "self.layers.append",
		"fc(x)":                       "self.fc()",
		"F.relu(y)":                   "F.relu()",
		"s.thing":                     "s.thing",
		"x.view(1)[0].item":           "x.view()[].item",
		"(y + z).sum":                 "?.sum",
		"optim.AdamW":                 "torch.optim.AdamW",
		"opt.step":                    "opt.step",
		"step()":                      "step()",
		"cast()":                      "torch.cuda.amp.autocast()",
		"zeros(3)":                    "torch.zeros()",
		"GPT.load":                    ".models.GPT.load",
		"t.go":                        "..lib.tools.go",
		"tools.went":                  "tools.went",
		"torch.utils.data.DataLoader": "torch.utils.data.DataLoader",
		"n.bit_length":                "n.bit_length",
		"10":                          "",
	} {
		if got := file.PathOf(exprAt(t, file, source)); got != want {
			t.Errorf("the path of %s is %q, want %q", source, got, want)
		}
	}
	if stars := file.StarImports(); len(stars) != 1 || stars[0] != "helpers" {
		t.Errorf("star imports %q", stars)
	}
}

func TestBindings(t *testing.T) {
	file := Parse("names.py", namesSource)
	run := file.FunctionsNamed("run")[0]
	locals := file.Locals(run)
	for name, kind := range map[string]BindingKind{
		"model": BoundParameter, "optim": BoundImport, "opt": BoundValue, "n": BoundValue, "a": BoundValue, "inner": BoundFunction,
	} {
		if locals[name] == nil || locals[name].Kind != kind {
			t.Errorf("%s is bound as %+v, want kind %d", name, locals[name], kind)
		}
	}
	if !locals["a"].Unpacked || len(locals["a"].Values) != 0 {
		t.Errorf("a is part of an unpacked value: %+v", locals["a"])
	}
	if locals["total"].Count != 2 {
		t.Errorf("total is bound %d times, want 2", locals["total"].Count)
	}
	if relu := file.Globals()["relu"]; relu == nil || len(relu.Values) != 1 {
		t.Errorf("relu is bound as %+v", relu)
	}
	net := file.Classes[0]
	for name, want := range map[string]string{"fc": "nn.Linear(n, n)", "a": "nn.ReLU()", "b": "2", "width": "3"} {
		attribution := file.Attribution(net, name)
		if attribution == nil || len(attribution.Values) != 1 || file.Source(attribution.Values[0]) != want {
			t.Errorf("self.%s is %+v, want %s", name, attribution, want)
		}
	}
	if layers := file.Attribution(net, "layers"); layers == nil || len(layers.Appended) != 1 {
		t.Errorf("self.layers is %+v", layers)
	}
	if class := file.SelfClass(exprAt(t, file, "this")); class != net {
		t.Errorf("this is an instance of %v", class)
	}
}

func TestLiterals(t *testing.T) {
	file := Parse("literals.py", "'a' \"b\"\nr'\\n'\n'\\n\\x41'\n-3\n1_000\nTrue\nNone\nb'x'\n('a'  # note's\n 'c')\n")
	values := func(i int) Expr { return file.Module.Body[i].(*ExprStmt).Value }
	for i, want := range map[int]string{0: "ab", 1: "\\n", 2: "\n\\x41", 8: "ac"} {
		if got, ok := String(values(i)); !ok || got != want {
			t.Errorf("string %d is %q, %v; want %q", i, got, ok, want)
		}
	}
	for i, want := range map[int]int64{3: -3, 4: 1000} {
		if got, ok := Int(values(i)); !ok || got != want {
			t.Errorf("integer %d is %d, %v; want %d", i, got, ok, want)
		}
	}
	if value, ok := Bool(values(5)); !value || !ok {
		t.Error("True is not true")
	}
	if !IsNone(values(6)) || IsNone(values(5)) {
		t.Error("None is not told apart")
	}
	if _, ok := String(values(7)); ok {
		t.Error("bytes are no string")
	}
}
