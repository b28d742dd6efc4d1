package rules

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// nameIndex lists the files that call a name, and counts the functions of a name.
type nameIndex struct {
	files   []*fileIndex // that it is made from
	once    sync.Once
	callers map[string][]*fileIndex
	defs    map[string][]*fileIndex
	// training holds trainingNames of the files it was made from.
	training map[string]bool
	// calls and compiled keep the newest answers of any project that shares the index, for those in which they still hold.
	calls    sync.Map
	compiled atomic.Pointer[compiledTable]
}

// calling lists the files that may call a name.
func (p *Project) calling(name string) []*fileIndex {
	if p.edit != nil {
		out := p.before.calling(name)
		if len(p.edit.index.ready().calls[name]) > 0 {
			out = append(slices.Clone(out), p.edit.index)
		}
		return out
	}
	files := p.callingFiles(name)
	p.notes.add(&callingFiles{name: name, files: files})
	return files
}

func (p *Project) callingFiles(name string) []*fileIndex {
	return p.named(name, func(n *nameIndex) map[string][]*fileIndex { return n.callers }, func(x *fileIndex) bool { return len(x.calls[name]) > 0 })
}

// defining lists the files once per function they define of that name.
func (p *Project) defining(name string) int {
	if p.edit != nil {
		return p.before.defining(name)
	}
	n := p.countDefined(name)
	p.notes.add(&definedTimes{name: name, n: n})
	return n
}

// defines tells whether a function of that name is defined anywhere.
func (p *Project) defines(name string) bool {
	if p.edit != nil {
		return p.before.defines(name)
	}
	return p.defining(name) > 0
}

func (p *Project) countDefined(name string) int {
	if known, ok := p.counts.Load(name); ok {
		return known.(int)
	}
	n := 0
	seen := map[*fileIndex]bool{}
	for _, x := range p.named(name, func(n *nameIndex) map[string][]*fileIndex { return n.defs }, func(x *fileIndex) bool { return true }) {
		if seen[x] {
			continue
		}
		seen[x] = true
		for _, fn := range x.file.Functions {
			if fn.Name == name {
				n++
			}
		}
	}
	p.counts.Store(name, n)
	return n
}

func (p *Project) named(name string, table func(*nameIndex) map[string][]*fileIndex, has func(*fileIndex) bool) []*fileIndex {
	p.names.once.Do(func() {
		p.names.callers, p.names.defs = map[string][]*fileIndex{}, map[string][]*fileIndex{}
		readyAll(p.names.files)
		for _, x := range p.names.files {
			for call := range x.calls {
				p.names.callers[call] = append(p.names.callers[call], x)
			}
			for _, fn := range x.file.Functions {
				if list := p.names.defs[fn.Name]; len(list) == 0 || list[len(list)-1] != x {
					p.names.defs[fn.Name] = append(list, x)
				}
			}
		}
		p.names.training = trainingNames(p.names.files, nil)
	})
	var out []*fileIndex
	for _, x := range table(p.names)[name] {
		if p.paths[x.file.Path] == x {
			out = append(out, x)
		}
	}
	for _, x := range p.changed {
		if p.paths[x.file.Path] == x && !slices.Contains(out, x) && has(x.ready()) {
			out = append(out, x)
		}
	}
	if len(p.changed) > 0 { // the order is that of a project made anew
		slices.SortFunc(out, byPath)
	}
	return out
}

// readyAll builds the indexes of files on all cores: whoever asks for anything of the project waits for all of them.
func readyAll(files []*fileIndex) {
	var next atomic.Int64
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(files)); i = next.Add(1) - 1 {
				files[i].ready().loopInfo()
			}
		})
	}
	workers.Wait()
}
