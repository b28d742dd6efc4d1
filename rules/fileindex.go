package rules

import (
	"sync"

	"stepline/pyscan"
)

// fileIndex is one file as the rules see it: made once, then immutable.
type fileIndex struct {
	file     *pyscan.File
	module   string // dotted
	namesGPU bool
	torch    bool // mentions torch at all

	texts sync.Map // what find answered
	edit  *edit    // set where this indexes changed definitions alone

	once   sync.Once
	tree   *Tree
	scopes map[*pyscan.Function]scope
	// calls lists the call sites by the callee's last name, for finding callers.
	calls map[string][]*Site
	// defs finds a def's or lambda's site.
	defs map[*pyscan.Function]*Site

	pathsOnce sync.Once
	byPath    map[string][]*Site // what callsByPath answers

	usesOnce sync.Once
	uses     map[*pyscan.Function]*uses

	loopsOnce sync.Once
	info      *loopInfo

	// attributes are attributeNames, made on first use.
	attributesOnce sync.Once
	attributes     map[string]bool

	halfOnce    sync.Once
	halfImports string
}

// gpuWords name a GPU, a device or a framework that brings one (guard g4).
var gpuWords = []string{"cuda", "CUDA", "device", "ccelerat", "Trainer", "trainer", "ightning", "eepspeed", "eepSpeed", "gpu", "GPU"}

// newFileIndex is a file's index; before is the one of its text before an edit, nil if there is none.
func newFileIndex(f *pyscan.File, before *fileIndex) *fileIndex {
	x := &fileIndex{file: f, module: modulePath(f.Path)}
	if before != nil {
		x.inheritTexts(before)
	}
	x.namesGPU, x.torch = x.mentions(gpuWords...), x.mentions("torch", "lightning")
	return x
}

// ready builds the index on first use.
func (x *fileIndex) ready() *fileIndex {
	x.once.Do(func() {
		if x.edit != nil {
			x.buildEdit()
		} else {
			x.tree = NewTree(x.file)
			x.tree.index = x
		}
		x.scopes = scopesOf(x.tree)
		x.calls = map[string][]*Site{}
		for _, c := range x.tree.Calls {
			if name := lastName(c.Call().Func); name != "" {
				x.calls[name] = append(x.calls[name], c)
			}
		}
		x.defs = map[*pyscan.Function]*Site{}
		for _, s := range x.tree.Sites {
			switch n := s.Node.(type) {
			case *pyscan.FunctionDef:
				x.defs[n.Function] = s
			case *pyscan.Lambda:
				x.defs[n.Function] = s
			}
		}
	})
	return x
}
