package analysis

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"

	"stepline/pyscan"
	"stepline/rules"
	"stepline/rules/catalog"
	"stepline/traceindex"
	"stepline/traceindex/load"
)

// The findings of a check are kept in the user's cache folder, so that the next one of the same files says the same at once.
// What a file's findings are rests on the files around it too, so a check is kept whole, under a key of everything it rests
// on: the program, the settings, and the path and text of every file read. No time stamps are trusted. Anything amiss with
// what was kept means checking anew, without a word.

const (
	findingsSuffix = ".findings"
	// maxKeptChecks bounds how many checks are kept; the oldest go first.
	maxKeptChecks = 32
	// minKeptBytes: less source is checked as fast as the cache is read.
	minKeptBytes = 256 << 10
)

// CheckRemembered is Check without a trace that answers from the cache where nothing has changed since the last such check.
// Then Checked.Files have a model only where there are findings.
func (w *Workspace) CheckRemembered(ctx context.Context, paths []string) (*Checked, error) {
	found, missing := w.find(paths)
	read, err := w.readAll(ctx, found)
	if err != nil {
		return nil, err
	}
	around, err := w.around(ctx, paths)
	if err != nil {
		return nil, err
	}
	refused := errors.Join(missing, read.refused)
	key := w.checkKey(read, around)
	place := w.keptAt(paths)
	if checked := recallCheck(place, key, read, around); checked != nil {
		return checked, refused
	}
	checked, err := w.checkAmong(ctx, read.sources, around, nil)
	if err != nil {
		return nil, err
	}
	checked.Warnings = append(slices.Clone(read.passedOver), checked.Warnings...)
	if read.size() >= minKeptBytes {
		keepCheck(place, key, read, checked)
	}
	return checked, refused
}

// around are the workspace's files that decide with those of a check: all of it where only some paths are checked.
func (w *Workspace) around(ctx context.Context, paths []string) ([]Source, error) {
	if len(paths) == 0 || w.root == "" {
		return nil, nil
	}
	names, err := w.indexNames(true)
	if err != nil {
		return nil, ctx.Err() // what cannot be listed cannot be seen across
	}
	names = slices.DeleteFunc(names, func(name string) bool { // as Index has it
		info, err := w.statInside(name)
		return err != nil || !info.Mode().IsRegular()
	})
	read, err := w.readAll(ctx, foundFiles{names: names})
	return read.sources, err
}

// checkKey is a hash of everything a check rests on.
func (w *Workspace) checkKey(read readFiles, around []Source) uint64 {
	h := xxhash.New()
	part := func(texts ...string) {
		for _, t := range texts {
			_, _ = h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(t)))) // a hash takes all
			_, _ = h.WriteString(t)
		}
	}
	config, err := json.Marshal(w.config)
	if err != nil {
		panic(err) // strings and numbers always encode
	}
	part(programIdentity(), string(config))
	for _, s := range read.sources {
		part(s.Path, s.Text)
	}
	for _, warning := range read.passedOver {
		part(warning.Code, warning.Message)
	}
	part("around")
	for _, s := range around {
		part(s.Path, s.Text)
	}
	return h.Sum64()
}

// programIdentity tells builds apart; "" where the program cannot be looked at.
func programIdentity() string {
	name, err := os.Executable()
	if err != nil {
		return ""
	}
	info, err := os.Stat(name)
	if err != nil {
		return ""
	}
	return name + info.ModTime().String() + string(binary.LittleEndian.AppendUint64(nil, uint64(info.Size())))
}

// keptAt is the file for the checks of these paths of the workspace, "" where there is no cache folder.
func (w *Workspace) keptAt(paths []string) string {
	folder, err := load.CacheDir()
	if err != nil || programIdentity() == "" {
		return ""
	}
	h := xxhash.New()
	for _, p := range append([]string{w.root}, paths...) {
		_, _ = h.WriteString(p + "\x00") // a hash takes all
	}
	base := filepath.Base(w.root)
	name := strings.Map(func(r rune) rune {
		if r < 0x20 || r >= 0x7f || strings.ContainsRune(`/\:*?"<>|`, r) {
			return '_'
		}
		return r
	}, base[:min(len(base), 60)])
	return filepath.Join(folder, fmt.Sprintf("%s-%016x%s", name, h.Sum64(), findingsSuffix))
}

// keptCheck is a check as it is written; files are named by their path.
type keptCheck struct {
	Key      uint64
	Findings []keptFinding
	Warnings []traceindex.Warning
	Unread   []string // files that have no model (broken notebooks)
}

type keptFinding struct {
	Rule     string
	At       keptPlace
	Message  string
	Severity rules.Severity
	Related  []keptPlace
	Fixes    []keptFix
	Tags     []rules.Tag
}

// keptPlace is a span of a file with what is said or written there.
type keptPlace struct {
	File       string
	Start, End int
	Text       string
}

type keptFix struct {
	Title  string
	Safety rules.Safety
	Edits  []keptPlace
}

func placeOf(file *pyscan.File, span pyscan.Span, text string) keptPlace {
	return keptPlace{file.Path, span.Start, span.End, text}
}

// keepCheck writes a check beside its place and renames it, so that a reader sees all of it or nothing. A cache that cannot be
// written is no cache.
func keepCheck(place string, key uint64, read readFiles, checked *Checked) {
	if place == "" {
		return
	}
	kept := keptCheck{Key: key, Warnings: checked.Warnings}
	modelled := map[string]bool{}
	for _, f := range checked.Files {
		modelled[f.Path] = true
	}
	for _, s := range read.sources {
		if !modelled[s.Path] {
			kept.Unread = append(kept.Unread, s.Path)
		}
	}
	for _, f := range checked.Findings {
		k := keptFinding{Rule: f.Rule.ID, At: placeOf(f.File, f.Span, ""), Message: f.Message, Severity: f.Severity, Tags: f.Tags}
		for _, r := range f.Related {
			k.Related = append(k.Related, placeOf(r.File, r.Span, r.Message))
		}
		for _, fix := range f.Fixes {
			edits := keptFix{Title: fix.Title, Safety: fix.Safety}
			for _, e := range fix.Edits {
				edits.Edits = append(edits.Edits, placeOf(e.File, e.Span, e.New))
			}
			k.Fixes = append(k.Fixes, edits)
		}
		kept.Findings = append(kept.Findings, k)
	}
	data, err := json.Marshal(kept)
	if err != nil || os.MkdirAll(filepath.Dir(place), 0o700) != nil {
		return
	}
	scratch, err := os.CreateTemp(filepath.Dir(place), ".stepline-*")
	if err != nil {
		return
	}
	_, err = scratch.Write(data)
	if err = errors.Join(err, scratch.Close()); err == nil {
		err = os.Rename(scratch.Name(), place)
	}
	if err != nil {
		_ = os.Remove(scratch.Name())
		return
	}
	dropOldChecks(filepath.Dir(place))
}

// keptChecks lists the kept checks' files, the oldest first.
func keptChecks(folder string) []fs.FileInfo {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil
	}
	var kept []fs.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil && strings.HasSuffix(e.Name(), findingsSuffix) {
			kept = append(kept, info)
		}
	}
	slices.SortFunc(kept, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	return kept
}

func dropOldChecks(folder string) {
	kept := keptChecks(folder)
	for _, info := range kept[:max(0, len(kept)-maxKeptChecks)] {
		_ = os.Remove(filepath.Join(folder, info.Name())) // the next check tries again
	}
}

// ForgetChecks removes the kept checks from the cache folder and tells how many there were and their bytes.
func ForgetChecks() (checks int, bytes int64, err error) {
	folder, err := load.CacheDir()
	if err != nil {
		return 0, 0, err
	}
	var errs []error
	for _, info := range keptChecks(folder) {
		if err := os.Remove(filepath.Join(folder, info.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
			continue
		}
		checks++
		bytes += info.Size()
	}
	return checks, bytes, errors.Join(errs...)
}

// recallCheck reads a kept check of that key; nil if there is none.
func recallCheck(place string, key uint64, read readFiles, around []Source) *Checked {
	data, err := os.ReadFile(place) // place may be "": then there is none
	if err != nil {
		return nil
	}
	var kept keptCheck
	if json.Unmarshal(data, &kept) != nil || kept.Key != key {
		return nil
	}
	r := recaller{texts: map[string]string{}, files: map[string]*pyscan.File{}, rules: map[string]*rules.Rule{}}
	r.checked = &Checked{Texts: map[*pyscan.File]string{}, Notebooks: map[*pyscan.File]*pyscan.Notebook{}, Warnings: kept.Warnings}
	for _, rule := range append(catalog.All(), rules.UnusedSuppression()) {
		r.rules[rule.ID] = rule
	}
	for _, s := range slices.Concat(around, read.sources) {
		r.texts[s.Path] = s.Text
	}
	for _, k := range kept.Findings {
		r.checked.Findings = append(r.checked.Findings, r.finding(k))
	}
	if r.failed {
		return nil
	}
	for _, s := range read.sources {
		if slices.Contains(kept.Unread, s.Path) {
			continue
		}
		file := r.files[s.Path]
		if file == nil { // nothing is shown of it
			file = &pyscan.File{Path: s.Path, Text: s.Text}
		}
		r.checked.Files = append(r.checked.Files, file)
		r.checked.Texts[file] = s.Text
	}
	return r.checked
}

// recaller makes findings of kept ones.
type recaller struct {
	checked *Checked
	texts   map[string]string
	files   map[string]*pyscan.File
	rules   map[string]*rules.Rule
	failed  bool
}

// file is the model of a file that a finding names.
func (r *recaller) file(path string) *pyscan.File {
	if f := r.files[path]; f != nil {
		return f
	}
	text, there := r.texts[path]
	file := &pyscan.File{Path: path, Text: text}
	switch {
	case !there:
		r.failed = true
	case IsNotebook(path):
		if notebook, err := pyscan.ParseNotebook(path, []byte(text)); err == nil {
			file = notebook.File
			r.checked.Notebooks[file] = notebook
		} else {
			r.failed = true
		}
	default:
		file = pyscan.Parse(path, text)
	}
	r.files[path] = file
	return file
}

func (r *recaller) place(k keptPlace) (*pyscan.File, pyscan.Span) {
	file := r.file(k.File)
	if k.Start < 0 || k.Start > k.End || k.End > len(file.Text) {
		r.failed = true
	}
	return file, pyscan.Span{Start: k.Start, End: k.End}
}

func (r *recaller) finding(k keptFinding) rules.Finding {
	f := rules.Finding{Rule: r.rules[k.Rule], Message: k.Message, Severity: k.Severity, Tags: k.Tags}
	r.failed = r.failed || f.Rule == nil
	f.File, f.Span = r.place(k.At)
	for _, place := range k.Related {
		file, span := r.place(place)
		f.Related = append(f.Related, rules.Related{File: file, Span: span, Message: place.Text})
	}
	for _, kept := range k.Fixes {
		fix := rules.Fix{Title: kept.Title, Safety: kept.Safety}
		for _, place := range kept.Edits {
			file, span := r.place(place)
			fix.Edits = append(fix.Edits, rules.TextEdit{File: file, Span: span, New: place.Text})
		}
		f.Fixes = append(f.Fixes, fix)
	}
	return f
}
