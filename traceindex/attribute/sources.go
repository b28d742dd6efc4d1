package attribute

import (
	"cmp"
	"slices"

	"stepline/pyscan"
	"stepline/traceindex"
)

// RecordedFunction is a function as a trace names it.
type RecordedFunction struct {
	Name string // the code object's name, or its qualified name
	Line int    // the first line, or the line that was running when recording began, or a yield's
}

// RecordedFile is a Python file as a trace names it, with the functions of it that the trace holds.
type RecordedFile struct {
	Path      string
	Functions []RecordedFunction
}

// Resolution is what became of a recorded path.
type Resolution struct {
	// File is the workspace's file, nil if there is none or several fit alike.
	File *pyscan.File
	// Candidates are the workspace files that fit alike, none of which is taken.
	Candidates []string
}

// Sources finds the workspace file of a recorded path. Implementations are safe for use by several goroutines.
type Sources interface {
	Resolve(file RecordedFile) Resolution
}

// source is one resolved file with what is compiled from it.
type source struct {
	module *moduleFacts
	finder *functionFinder
	base   string // the name that recordings call the file by, without its folder
	graphs map[*pyscan.Function]*functionAlignments
}

// functionAlignments are the alignments of one function so far: frames with the same calls share one.
type functionAlignments struct {
	aligner *aligner
	done    map[string]*alignment
	// decided are the aligners of the function with some branches decided by the arguments, by outcomes; outcomes by arguments.
	decided  map[string]*aligner
	outcomes map[string]string
	// tooLarge counts frames that were beyond the bounds of the alignment.
	tooLarge int
	// work is that of the alignments done so far.
	work int
}

// recordedFiles lists the Python files of a run with their functions.
func recordedFiles(run *traceindex.Run) []RecordedFile {
	byPath := map[string]map[RecordedFunction]bool{}
	add := func(file, function string, line int) {
		if file == "" {
			return
		}
		if byPath[file] == nil {
			byPath[file] = map[RecordedFunction]bool{}
		}
		byPath[file][RecordedFunction{function, line}] = true
	}
	for _, ix := range run.Ranks {
		for _, l := range ix.Locations {
			add(l.File, l.Function, l.Line)
		}
		if hasPythonFrames(ix) {
			continue
		}
		for _, d := range ix.Ops {
			if d.CallStack != 0 {
				for _, f := range parseCallStack(ix.Names[d.CallStack]) {
					add(f.file, f.function, f.line)
				}
			}
		}
	}
	files := make([]RecordedFile, 0, len(byPath))
	for path, functions := range byPath {
		f := RecordedFile{Path: path}
		for fn := range functions {
			f.Functions = append(f.Functions, fn)
		}
		slices.SortFunc(f.Functions, func(a, b RecordedFunction) int {
			return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Name, b.Name))
		})
		files = append(files, f)
	}
	slices.SortFunc(files, func(a, b RecordedFile) int { return cmp.Compare(a.Path, b.Path) })
	return files
}
