package analysis

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"stepline/pyscan"
	"stepline/traceindex"
	"stepline/traceindex/attribute"
	"stepline/traceindex/load"
	"stepline/traceindex/recorder"
)

// ranSources are the workspace's sources as they ran: `stepline record` leaves their text beside the trace, so that the trace is
// held against what it was recorded of, and its lines follow the edits made since. Without a recording they are the workspace's.
type ranSources struct {
	*attribute.Workspace
	byName map[string][]*ranFile // by the names the trace uses
	byPath map[string]*ranFile   // by workspace path
}

// ranFile is a workspace file with what is known of it at the recording.
type ranFile struct {
	source  *recorder.SourceFile
	path    string // in the workspace now
	current *pyscan.File
	// ran is the text that ran, under the path it has now; nil where the recording left the text out and the file has changed
	// since: then only the functions whose lines are all the same are known.
	ran *pyscan.File
	to  *LineMap // from ran to current
	// hashes are those of current's lines, made at need.
	hashes []string
}

// newRanSources reads what was recorded beside the run's traces. What cannot be read is a warning of the run.
func (w *Workspace) newRanSources(ctx context.Context, run *traceindex.Run, sources *attribute.Workspace) (*ranSources, error) {
	r := &ranSources{Workspace: sources, byName: map[string][]*ranFile{}, byPath: map[string]*ranFile{}}
	seen := map[string]bool{}
	for _, ix := range run.Ranks {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		recorded, name, err := readSources(ix.Meta.File)
		if err != nil {
			run.Warnings = append(run.Warnings, traceindex.Warning{Code: "recorded-sources", File: name, Message: fmt.Sprintf("the recorded sources cannot be used: %v", err)})
			continue
		}
		if recorded == nil {
			continue
		}
		for i := range recorded.Files {
			source := &recorded.Files[i]
			if key := source.Path + "\x00" + source.SHA256; len(source.Recorded) == 0 || seen[key] {
				continue
			} else {
				seen[key] = true
			}
			if source.ModifiedAfterStart {
				run.Warnings = append(run.Warnings, traceindex.Warning{Code: "modified-after-start", File: ix.Meta.File,
					Message: fmt.Sprintf("%s was written after the recorded process had started: what ran may be older than the text its lines are put on", source.Path)})
			}
			if err := w.place(ctx, r, source); err != nil {
				return nil, err
			}
		}
	}
	return r, nil
}

// readSources reads the recorded sources beside a trace: X.sources.json.gz of X.json.gz; nil where there are none.
func readSources(trace string) (*recorder.Sources, string, error) {
	name, ok := load.Beside(trace, "sources")
	if !ok {
		return nil, "", nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, name, err
	}
	defer f.Close()
	recorded, err := recorder.ReadSources(f)
	return recorded, name, err
}

// place finds the workspace file that a recorded one is now.
func (w *Workspace) place(ctx context.Context, r *ranSources, source *recorder.SourceFile) error {
	current, err := w.currentOf(ctx, r, source)
	if err != nil || current == nil || r.byPath[current.Path] != nil {
		return err // it is not here any more, or two ranks ran different texts of it: the first one's holds
	}
	f := &ranFile{source: source, path: current.Path, current: current}
	switch {
	case source.Text != "":
		f.ran = pyscan.Parse(current.Path, source.Text)
	case slices.Equal(lineHashes(current.Text), source.LineHashes):
		f.ran = current
	default:
		if text, whole := fromHashes(current.Text, source.LineHashes); whole {
			f.ran = pyscan.Parse(current.Path, text)
		}
	}
	if f.ran != nil {
		f.to = FollowLines(f.ran, current)
	}
	r.byPath[f.path] = f
	for _, name := range source.Recorded {
		r.byName[name] = append(r.byName[name], f)
	}
	return nil
}

// sameFileFrom is the share of lines in common from which two files are taken for versions of one.
const sameFileFrom = 0.5

// currentOf is the workspace file that a recorded one is now: the one at its path, unless that has become another file; else the one
// that the path and its functions fit; else, for one that was moved or renamed, the one with most of its lines.
func (w *Workspace) currentOf(ctx context.Context, r *ranSources, source *recorder.SourceFile) (*pyscan.File, error) {
	hashes := map[string]int{}
	for _, h := range source.LineHashes {
		if h != emptyLineHash {
			hashes[h]++
		}
	}
	var there *pyscan.File
	likeness := 0.0
	consider := func(f *pyscan.File) {
		if f == nil {
			return
		}
		if l := likenessOf(f.Text, hashes); there == nil || l > likeness {
			there, likeness = f, l
		}
	}
	if fs.ValidPath(source.Path) {
		consider(r.Workspace.File(source.Path))
	}
	if there == nil || likeness < sameFileFrom {
		recorded := attribute.RecordedFile{Path: source.Path}
		if source.Text != "" {
			for _, fn := range pyscan.Parse(source.Path, source.Text).Functions[1:] {
				recorded.Functions = append(recorded.Functions, attribute.RecordedFunction{Name: fn.Name, Line: fn.FirstLine})
			}
		}
		if found := r.Workspace.Resolve(recorded); found.File != nil {
			consider(found.File)
		}
	}
	if there != nil && likeness >= sameFileFrom {
		return there, nil
	}
	names, err := w.PythonFiles(nil)
	if err != nil {
		return there, nil // a folder that cannot be listed holds no better file
	}
	slices.SortStableFunc(names, func(a, b string) int { // of files alike, the one of the same name
		return cmp.Compare(boolInt(path.Base(b) == path.Base(source.Path)), boolInt(path.Base(a) == path.Base(source.Path)))
	})
	best, most := (*pyscan.File)(nil), max(likeness, sameFileFrom)
	for _, name := range names[:min(len(names), maxIndexed)] {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		relative := w.DisplayPath(name)
		if !strings.HasSuffix(relative, ".py") || !fs.ValidPath(relative) {
			continue
		}
		text, unusable := readSource(name)
		if unusable != nil {
			continue
		}
		if l := likenessOf(text, hashes); l > most || l == most && best == nil {
			if f := r.Workspace.File(relative); f != nil {
				best, most = f, l
			}
		}
	}
	if best != nil {
		return best, nil
	}
	return there, nil
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// hashLine is the recorder's hash of a line without its ending.
func hashLine(line string) string {
	sum := sha256.Sum256([]byte(line))
	return hex.EncodeToString(sum[:])[:12]
}

var emptyLineHash = hashLine("")

// lineHashes are the hashes of a text's lines, as the recorder makes them: lines end with \n, \r\n or \r.
func lineHashes(text string) []string {
	lines := splitLines(text)
	hashes := make([]string, len(lines))
	for i, line := range lines {
		hashes[i] = hashLine(line)
	}
	return hashes
}

func splitLines(text string) []string {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	lines := strings.Split(text, "\n")
	if n := len(lines); lines[n-1] == "" {
		lines = lines[:n-1]
	}
	return lines
}

// fromHashes makes the text that ran of the lines it still has in common with the text of now; whole tells that none is missing.
func fromHashes(now string, recorded []string) (text string, whole bool) {
	lines := map[string]string{}
	for _, line := range splitLines(now) {
		lines[hashLine(line)] = line
	}
	var ran strings.Builder
	for _, hash := range recorded {
		line, known := lines[hash]
		if !known && hash != emptyLineHash {
			return "", false
		}
		ran.WriteString(line + "\n")
	}
	return ran.String(), len(recorded) > 0
}

// likenessOf is the share of lines that a text has in common with a recorded one, of the longer of both; empty lines are none.
func likenessOf(text string, recorded map[string]int) float64 {
	total := 0
	for _, n := range recorded {
		total += n
	}
	left := map[string]int{}
	common, lines := 0, 0
	for _, line := range splitLines(text) {
		if line == "" {
			continue
		}
		lines++
		h := hashLine(line)
		if left[h] < recorded[h] {
			left[h]++
			common++
		}
	}
	if total == 0 || lines == 0 {
		return 0
	}
	return float64(common) / float64(max(total, lines))
}

// Resolve implements attribute.Sources: a file that was recorded is the text that ran.
func (r *ranSources) Resolve(file attribute.RecordedFile) attribute.Resolution {
	named := r.byName[file.Path]
	if len(named) == 0 {
		return r.Workspace.Resolve(file)
	}
	best := named[:1]
	if len(named) > 1 { // two files of one name: the one whose functions these are
		best = nil
		most := -1
		for _, f := range named {
			switch n := f.functionsOf(file); {
			case n > most:
				best, most = []*ranFile{f}, n
			case n == most:
				best = append(best, f)
			}
		}
	}
	if len(best) > 1 {
		var paths []string
		for _, f := range best {
			paths = append(paths, f.path)
		}
		return attribute.Resolution{Candidates: paths}
	}
	return attribute.Resolution{File: best[0].text()}
}

// text is the text to hold the trace against.
func (f *ranFile) text() *pyscan.File {
	if f.ran != nil {
		return f.ran
	}
	return f.current
}

// functionsOf counts the trace's functions that a file has at their lines.
func (f *ranFile) functionsOf(file attribute.RecordedFile) (n int) {
	for _, recorded := range file.Functions {
		name := recorded.Name[strings.LastIndexByte(recorded.Name, '.')+1:]
		if slices.ContainsFunc(f.text().Functions, func(fn *pyscan.Function) bool {
			return fn.Name == name && (fn.FirstLine == recorded.Line || fn.DefLine == recorded.Line)
		}) {
			n++
		}
	}
	return n
}

// move is where a place of the sources that ran is now. A statement of a function that has changed is nowhere: its function is.
func (r *ranSources) move(p attribute.Place) attribute.Place {
	f := r.byPath[p.File]
	switch {
	case f == nil || p.Line <= 0:
		return p
	case f.ran == nil:
		if !f.asItRan(p.Line) {
			p.Line, p.Confidence = max(1, functionOf(f.current, p.Line).DefLine), traceindex.ConfidenceFunction
		}
		return p
	}
	line, fresh := f.to.Line(p.Line)
	if !fresh || line <= 0 {
		return f.function(p, p.Line)
	}
	if f.to.same {
		return p
	}
	p.Line, p.Function = line, functionAt(f.current, line)
	return p
}

// function is the whole function of a statement that is not as it ran, as it is now; Missing where it is gone.
func (f *ranFile) function(p attribute.Place, line int) attribute.Place {
	whole := attribute.Place{File: p.File, Function: p.Function, Confidence: traceindex.ConfidenceFunction}
	ran := functionOf(f.ran, line)
	if ran.Parent == nil { // the file's top level
		whole.Line = 1
		return whole
	}
	at, _ := f.to.Line(ran.DefLine)
	if at <= 0 {
		whole.Missing = true
		return whole
	}
	whole.Line = at
	if fn := defAt(f.current, at); fn != nil {
		whole.Function = fn.QualName
	}
	return whole
}

// asItRan reports whether a line's function is as it was recorded, in a file whose text was not: all of its lines are among the
// recorded ones, in a row. What stands in no function is told only while the whole file is the same.
func (f *ranFile) asItRan(line int) bool {
	fn := functionOf(f.current, line)
	if fn.Parent == nil {
		return false
	}
	if f.hashes == nil {
		f.hashes = lineHashes(f.current.Text)
	}
	return containsRow(f.source.LineHashes, f.hashes[fn.FirstLine-1:min(fn.LastLine, len(f.hashes))])
}

// containsRow reports whether all of the lines stand in the list in a row.
func containsRow(list, lines []string) bool {
	for i := 0; i+len(lines) <= len(list); i++ {
		if slices.Equal(list[i:i+len(lines)], lines) {
			return true
		}
	}
	return false
}

// functionOf is the def, or the module, whose frame a line's statement runs in.
func functionOf(file *pyscan.File, line int) *pyscan.Function {
	if line < 1 || line > file.LineCount() {
		return file.Module
	}
	span := file.LineSpan(line)
	text := file.Text[span.Start:span.End]
	fn := file.RunsIn(span.Start + len(text) - len(strings.TrimLeft(text, " \t\f")))
	for fn != nil && (fn.Comprehension != nil || fn.Value != nil) && fn.Parent != nil {
		fn = fn.Parent
	}
	if fn == nil {
		return file.Module
	}
	return fn
}

// functionAt is the qualified name of functionOf.
func functionAt(file *pyscan.File, line int) string {
	fn := functionOf(file, line)
	return cmp.Or(fn.QualName, fn.Name)
}

// defAt is the def at a line, nil if there is none.
func defAt(file *pyscan.File, line int) *pyscan.Function {
	for _, fn := range file.Functions {
		if fn.Parent != nil && fn.Comprehension == nil && fn.Value == nil && (fn.DefLine == line || fn.FirstLine == line) {
			return fn
		}
	}
	return nil
}
