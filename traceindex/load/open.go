package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/bmatcuk/doublestar/v4"

	"stepline/traceindex"
	"stepline/traceindex/kineto"
	"stepline/traceindex/memsnap"
	"stepline/traceindex/nsys"
)

// largeBytes and immenseBytes are the sizes of inputs, unpacked, from which memory is kept tight (gcPercent).
// packedTimes is how many times larger than its gzip a trace usually is (10 to 25).
const (
	largeBytes   = 128 << 20
	immenseBytes = 1 << 30
	packedTimes  = 16
)

// Options change how inputs are opened. The zero value is good.
type Options struct {
	// Progress is told the bytes of the files read so far, of all of them. It is called from one goroutine at a time, often.
	Progress func(done, total int64)
	// Parallel is how many files are read at once; 0 means 2. Each file being read needs the memory of its events.
	Parallel int
	// NoCache reads the files anew and keeps no index of them.
	NoCache bool
	// BesideAlone accepts inputs without any trace among them, where they say something by themselves (Run.Beside).
	BesideAlone bool
	// Serving tells that this process answers somebody meanwhile, as a language server does: memory is kept less tight.
	Serving bool
}

// gcPercent is how much memory may grow before it is collected, in per cent, from now on in this process; 0 leaves that as it is.
// The heap of a large run is columns without pointers: a collection costs a command little, letting the heap double before one
// costs the machine's memory. A language server's heap is models of source, which take long to go through: every collection of
// it is a tenth of a second in which answers wait for a processor, and a large trace would set off ten of them.
func gcPercent(textBytes int64, serving bool) int {
	switch {
	case textBytes > immenseBytes && serving:
		return 50
	case textBytes > immenseBytes:
		return 5
	case textBytes > largeBytes && !serving:
		return 20
	}
	return 0
}

// Error is about one input that cannot be used; what is left of the run is opened all the same.
type Error struct {
	Path string
	Err  error
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %v", e.Path, e.Err) }
func (e *Error) Unwrap() error { return e.Err }

// Open opens files, folders and globs as one run, one rank a file. The Run holds what could be opened; the error joins an
// *Error for each input that could not (nil if all could). In a folder, only files that are traces by content are taken, the
// rest is passed over silently. With nothing usable the Run is nil. When ctx ends, Open returns its error soon (100 ms).
func Open(ctx context.Context, paths []string, opts Options) (*traceindex.Run, error) {
	inputs, errs := expand(paths)
	if len(inputs) == 0 {
		switch {
		case len(paths) == 0:
			errs = append(errs, errors.New("no trace given"))
		case len(errs) == 0:
			errs = append(errs, &Error{strings.Join(paths, ", "), errors.New("no trace in this folder")})
		}
		return nil, errors.Join(errs...)
	}
	total, text := int64(0), int64(0)
	for _, in := range inputs {
		total += in.size
		text += in.size
		if name := strings.ToLower(in.path); strings.HasSuffix(name, ".gz") || strings.HasSuffix(name, ".zip") {
			text += in.size * (packedTimes - 1)
		}
	}
	if percent := gcPercent(text, opts.Serving); percent > 0 {
		debug.SetGCPercent(percent)
	}
	progress := newProgress(opts.Progress, total)
	indexes := make([][]*traceindex.Index, len(inputs))
	failures := make([]error, len(inputs))
	parallel := cmp.Or(opts.Parallel, 2)
	slots := make(chan struct{}, parallel)
	var wait sync.WaitGroup
	for i, in := range inputs {
		wait.Go(func() {
			select {
			case slots <- struct{}{}:
				defer func() { <-slots }()
			case <-ctx.Done():
				return
			}
			indexes[i], failures[i] = openFile(ctx, in, &fileProgress{all: progress, size: in.size}, opts.NoCache)
		})
	}
	finished := make(chan struct{})
	go func() {
		wait.Wait()
		close(finished)
	}()
	select {
	case <-finished:
	case <-ctx.Done():
		// The readers notice too, but one of them may be in the midst of a sort: they end on their own.
		progress.silence()
		return nil, ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	run := &traceindex.Run{}
	var beside []error
	for i, in := range inputs {
		var other besideError
		switch {
		case failures[i] == nil:
			run.Ranks = append(run.Ranks, indexes[i]...)
		case errors.As(failures[i], &other) && (!in.fromFolder || in.fromGlob):
			run.Beside = append(run.Beside, traceindex.BesideFile{Kind: other.kind, Path: in.path})
			beside = append(beside, &Error{in.path, failures[i]})
		case in.fromFolder && errors.Is(failures[i], errNotOurs):
		default:
			errs = append(errs, &Error{in.path, failures[i]})
		}
	}
	if len(run.Ranks) == 0 && opts.BesideAlone && len(run.Beside) > 0 {
		return run, errors.Join(errs...)
	}
	if len(run.Ranks) == 0 {
		errs = append(errs, beside...)
		if len(errs) == 0 {
			errs = append(errs, &Error{strings.Join(paths, ", "), errors.New("no trace in this folder")})
		}
		return nil, errors.Join(errs...)
	}
	arrange(run)
	return run, errors.Join(errs...)
}

// input is one file to open.
type input struct {
	path string
	size int64
	// fromFolder tells that nobody named the file outright; fromGlob that a pattern did.
	fromFolder, fromGlob bool
}

// expand turns folders and globs into files. A path that is there is taken as it is, whatever characters it has.
func expand(paths []string) ([]input, []error) {
	var inputs []input
	var errs []error
	seen := map[string]bool{}
	add := func(path string, size int64, fromFolder bool) {
		if key := filepath.Clean(path); !seen[key] {
			seen[key] = true
			inputs = append(inputs, input{path: path, size: size, fromFolder: fromFolder})
		}
	}
	for _, p := range paths {
		info, err := os.Stat(p)
		switch {
		case err == nil && info.IsDir():
			if err := walk(p, add); err != nil {
				errs = append(errs, &Error{p, err})
			}
		case err == nil:
			add(p, info.Size(), false)
		case strings.ContainsAny(p, "*?[{"):
			found, globErr := Glob(p)
			if globErr != nil {
				errs = append(errs, &Error{p, fmt.Errorf("bad pattern: %w", globErr)})
				continue
			}
			if len(found) == 0 {
				errs = append(errs, &Error{p, errors.New("no file matches")})
			}
			slices.Sort(found)
			for _, f := range found {
				if info, err := os.Stat(f); err == nil && !info.IsDir() {
					n := len(inputs)
					add(f, info.Size(), true)
					for i := n; i < len(inputs); i++ {
						inputs[i].fromGlob = true
					}
				}
			}
		case errors.Is(err, fs.ErrNotExist):
			errs = append(errs, &Error{p, errors.New("no such file or folder")})
		default:
			errs = append(errs, &Error{p, withoutPath(err)})
		}
	}
	return inputs, errs
}

// Glob lists what a pattern names. Links to folders are entered where the pattern spells them out, not where a `*` or `**` meets
// them: a link to a folder above would have no end, one elsewhere would list what nobody meant.
func Glob(pattern string) ([]string, error) {
	return doublestar.FilepathGlob(pattern, doublestar.WithNoFollow())
}

// walk lists the files of a folder and of the folders in it that may be traces by name: a folder of ranks holds other things
// too, and a name alone does not make a trace; what is in it decides later.
func walk(dir string, add func(string, int64, bool)) error {
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			if path == dir {
				return err
			}
			return nil
		}
		name := e.Name()
		if path != dir && e.IsDir() && strings.HasPrefix(name, ".") {
			return filepath.SkipDir
		}
		if isSidecar(name) || e.IsDir() {
			return nil
		}
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() { // links to files count
			add(path, info.Size(), true)
		}
		return nil
	})
}

// openFile reads one file into its ranks: one, but for an Nsight Systems export of several processes. A besideError tells a file
// that is no trace but adds to one.
func openFile(ctx context.Context, in input, progress *fileProgress, noCache bool) ([]*traceindex.Index, error) {
	defer progress.done()
	f, err := os.Open(in.path)
	if err != nil {
		return nil, withoutPath(err)
	}
	defer f.Close()
	raw, text, err := readHead(f)
	if err != nil {
		return nil, withoutPath(err)
	}
	if nsys.Sniff(raw) {
		ranks, err := nsys.Read(ctx, in.path)
		if errors.Is(err, nsys.ErrNotExport) {
			return nil, notOursNamed("%s", strings.TrimPrefix(err.Error(), "nsys: "+in.path+": "))
		}
		if err != nil {
			return nil, errors.New(strings.TrimPrefix(err.Error(), "nsys: "+in.path+": "))
		}
		return ranks, nil
	}
	if !isJSON(text) {
		if kind := besideKind(raw, text); kind != "" {
			return nil, besideError{kind}
		}
		if memsnap.IsPickle(raw) && !in.fromFolder {
			return nil, openPickle(ctx, in.path)
		}
	}
	ix, err := openTrace(ctx, f, raw, in, progress, noCache)
	if err != nil {
		return nil, err
	}
	return []*traceindex.Index{ix}, nil
}

// withoutPath takes the path off an error that will be told with it.
func withoutPath(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}

// openTrace reads one trace's JSON, or its index from the cache.
func openTrace(ctx context.Context, f *os.File, raw []byte, in input, progress *fileProgress, noCache bool) (*traceindex.Index, error) {
	key, cached := keyOf(in, f)
	cached = cached && !noCache
	if cached {
		if ix := fromCache(ctx, key); ix != nil {
			rename(ix, in.path)
			return ix, nil
		}
	}
	text, warnings, err := unpack(f, raw, in, progress)
	if err != nil {
		return nil, err
	}
	b, err := kineto.Read(ctx, text, in.path)
	if err != nil {
		return nil, notOurs(err, in)
	}
	b.Warnings = append(b.Warnings, warnings()...)
	if b.Meta.Rank < 0 {
		if rank, ok := rankOfName(filepath.Base(in.path)); ok {
			b.Meta.Rank = rank
		}
	}
	ix, err := b.Build(ctx)
	if err != nil {
		return nil, err
	}
	if side, ok := sidecarOf(in.path); ok {
		if err := readCallLines(ctx, ix, side); err != nil {
			ix.Warnings = append(ix.Warnings, traceindex.Warning{Code: "call-lines", File: side, Message: fmt.Sprintf("the recorded call lines cannot be used: %v", err)})
		}
	}
	if cached {
		toCache(ctx, key, ix)
	}
	return ix, ctx.Err()
}
