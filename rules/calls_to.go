package rules

import "slices"

// callsByPath lists the file's calls by the dotted path of what they call; those of the project's own code, and of what nobody
// imported, have none.
func (x *fileIndex) callsByPath() map[string][]*Site {
	x.pathsOnce.Do(func() {
		x.byPath = map[string][]*Site{}
		for _, c := range x.tree.Calls {
			if path := x.calleePath(c); path != "" {
				x.byPath[path] = append(x.byPath[path], c)
			}
		}
	})
	return x.byPath
}

// CallsTo are the file's calls of one of several dotted paths (see Resolve), in source order.
func (f *Facts) CallsTo(paths ...string) []*Site {
	calls := f.index.callsByPath()
	if len(paths) == 1 {
		return calls[paths[0]]
	}
	var out []*Site
	for _, path := range paths {
		out = append(out, calls[path]...)
	}
	return inSourceOrder(out)
}

// CallsWhere are the file's calls of the dotted paths that a test holds for, in source order. The test is made once a path.
func (f *Facts) CallsWhere(test func(path string) bool) []*Site {
	var out []*Site
	for path, calls := range f.index.callsByPath() {
		if test(path) {
			out = append(out, calls...)
		}
	}
	return inSourceOrder(out)
}

func inSourceOrder(calls []*Site) []*Site {
	slices.SortFunc(calls, func(a, b *Site) int { return int(a.at - b.at) })
	return calls
}
