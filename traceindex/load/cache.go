package load

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"

	"stepline/traceindex"
)

// The cache keeps finished indexes under the user's cache folder, one file an input. A file there begins with the description
// of its input as one line of JSON, padded to a multiple of eight bytes; the encoded index follows. It is written beside and
// renamed, so that a reader sees all of it or nothing. Anything amiss with it (another version, damage, a changed input) means
// reading the input anew and writing it again, without a word.

const (
	cacheSuffix = ".index"
	// cacheVersion is raised when the same bytes would be indexed differently.
	cacheVersion = 4
	// maxCacheBytes bounds the whole folder; the entries longest unused go first.
	maxCacheBytes = 4 << 30
	// minCachedBytes: smaller files are read faster than it matters.
	minCachedBytes = 64 << 10
)

// cacheKey describes an input so that any change of it shows.
type cacheKey struct {
	Version int
	Program string // which build made the index
	Path    string // absolute
	Bytes   int64
	ModNs   int64
	Sample  uint64 // hash of the file's beginning, middle and end
	Sidecar string // size and time of the call lines' file, "" without
}

// CacheEntry is one index in the cache.
type CacheEntry struct {
	Input string // the absolute path of the trace
	File  string // the cache file
	Bytes int64
	Used  time.Time // when it was last opened or written
}

// CacheDir is the folder of the cache: stepline in the user's cache folder. It need not exist.
func CacheDir() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no cache folder: %w", err)
	}
	return filepath.Join(base, "stepline"), nil
}

// CacheEntries lists the cache, the last used first.
func CacheEntries() ([]CacheEntry, error) {
	dir, err := CacheDir()
	if err != nil {
		return nil, err
	}
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var entries []CacheEntry
	for _, f := range files {
		info, err := f.Info()
		if err != nil || !strings.HasSuffix(f.Name(), cacheSuffix) {
			continue
		}
		e := CacheEntry{File: filepath.Join(dir, f.Name()), Bytes: info.Size(), Used: info.ModTime()}
		if key, err := readKey(e.File); err == nil {
			e.Input = key.Path
		}
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(x, y CacheEntry) int { return cmp.Or(y.Used.Compare(x.Used), cmp.Compare(x.File, y.File)) })
	return entries, nil
}

// ClearCache removes all of the cache and tells how many indexes and bytes that were.
func ClearCache() (indexes int, bytes int64, err error) {
	dir, err := CacheDir()
	if err != nil {
		return 0, 0, err
	}
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, err
	}
	var errs []error
	for _, f := range files {
		ours := strings.HasSuffix(f.Name(), cacheSuffix)
		if !ours && !strings.HasPrefix(f.Name(), tempPrefix) {
			continue
		}
		info, err := f.Info()
		if err != nil {
			continue
		}
		if err := os.Remove(filepath.Join(dir, f.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
			continue
		}
		if ours {
			indexes++
			bytes += info.Size()
		}
	}
	return indexes, bytes, errors.Join(errs...)
}

// cacheFile is the place of an input's index.
func cacheFile(key cacheKey) (string, error) {
	dir, err := CacheDir()
	if err != nil {
		return "", err
	}
	name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(key.Path), ".gz"), ".json")
	name = strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f || strings.ContainsRune(`/\:*?"<>|`, r) {
			return '_'
		}
		return r
	}, name)
	if len(name) > 60 {
		name = strings.ToValidUTF8(name[:60], "")
	}
	return filepath.Join(dir, fmt.Sprintf("%s-%016x%s", name, xxhash.Sum64String(key.Path), cacheSuffix)), nil
}

// keyOf describes an input; ok is false if it is not worth caching or cannot be described.
func keyOf(in input, f *os.File) (key cacheKey, ok bool) {
	if in.size < minCachedBytes {
		return key, false
	}
	info, err := f.Stat()
	if err != nil {
		return key, false
	}
	path, err := filepath.Abs(in.path)
	if err != nil {
		return key, false
	}
	key = cacheKey{Version: cacheVersion, Program: program(), Path: path, Bytes: info.Size(), ModNs: info.ModTime().UnixNano()}
	const piece = 32 << 10
	sum := xxhash.New()
	for _, at := range []int64{0, info.Size()/2 - piece/2, info.Size() - piece} {
		buf := make([]byte, piece)
		n, err := f.ReadAt(buf, max(0, at))
		if err != nil && err != io.EOF {
			return key, false
		}
		sum.Write(buf[:n])
	}
	key.Sample = sum.Sum64()
	if side, ok := sidecarOf(in.path); ok {
		if info, err := os.Stat(side); err == nil {
			key.Sidecar = fmt.Sprintf("%d %d", info.Size(), info.ModTime().UnixNano())
		}
	}
	return key, true
}

// program identifies the running build: an index made by other code is not used.
func program() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%d %d", info.Size(), info.ModTime().UnixNano())
}

// maxKeyBytes bounds the first line of a cache file.
const maxKeyBytes = 64 << 10

func (k cacheKey) line() []byte {
	line, _ := json.Marshal(k) // strings and numbers only
	for (len(line)+1)%8 != 0 {
		line = append(line, ' ')
	}
	return append(line, '\n')
}

func readKey(file string) (key cacheKey, err error) {
	f, err := os.Open(file)
	if err != nil {
		return key, err
	}
	defer f.Close()
	line, err := bufio.NewReader(io.LimitReader(f, maxKeyBytes)).ReadBytes('\n')
	if err != nil {
		return key, traceindex.ErrEncoding
	}
	err = json.Unmarshal(line, &key)
	return key, err
}

// fromCache returns the input's index from the cache, nil if it is not there as it should be.
func fromCache(ctx context.Context, key cacheKey) *traceindex.Index {
	file, err := cacheFile(key)
	if err != nil {
		return nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	line := key.line()
	info, err := f.Stat()
	if err != nil || info.Size() < int64(len(line)) || info.Size() > maxCacheBytes {
		return nil
	}
	head := make([]byte, len(line))
	if _, err := io.ReadFull(f, head); err != nil || string(head) != string(line) {
		return nil
	}
	// In pieces, so that a cancelled ctx is noticed.
	data := make([]byte, info.Size()-int64(len(line)))
	for at := 0; at < len(data); {
		if ctx.Err() != nil {
			return nil
		}
		n, err := f.Read(data[at:min(len(data), at+16<<20)])
		if err != nil {
			return nil
		}
		at += n
	}
	ix, err := traceindex.Decode(data)
	if err != nil {
		return nil
	}
	now := time.Now()
	_ = os.Chtimes(file, now, now) // only the order of removal depends on it
	return ix
}

const tempPrefix = "writing-"

// toCache writes the input's index. Failing is no one's trouble: the next open reads the input again.
func toCache(ctx context.Context, key cacheKey, ix *traceindex.Index) {
	file, err := cacheFile(key)
	if err != nil || len(key.line()) > maxKeyBytes {
		return
	}
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return
	}
	temp, err := os.CreateTemp(dir, tempPrefix)
	if err != nil {
		return
	}
	defer os.Remove(temp.Name()) // after the rename there is nothing to remove
	line := key.line()
	_, err = temp.Write(line)
	if err == nil {
		err = ix.Encode(&offsetWriter{ctx: ctx, f: temp, base: int64(len(line))})
	}
	size, sizeErr := temp.Seek(0, io.SeekEnd)
	if closeErr := temp.Close(); err != nil || closeErr != nil || sizeErr != nil || size > maxCacheBytes/2 {
		return
	}
	makeRoom(dir, size)
	_ = os.Rename(temp.Name(), file)
}

// offsetWriter writes behind the first bytes of a file, until ctx ends.
type offsetWriter struct {
	ctx  context.Context
	f    *os.File
	base int64
}

func (w *offsetWriter) Write(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.f.Write(p)
}

func (w *offsetWriter) Seek(offset int64, whence int) (int64, error) {
	if whence == io.SeekStart {
		offset += w.base
	}
	at, err := w.f.Seek(offset, whence)
	return at - w.base, err
}

// makeRoom removes the entries longest unused until size more bytes fit, those of traces that are gone, and what an interrupted
// writer left behind.
func makeRoom(dir string, size int64) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	type entry struct {
		path  string
		bytes int64
		used  time.Time
	}
	var entries []entry
	total := size
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			continue
		}
		path := filepath.Join(dir, f.Name())
		switch {
		case strings.HasPrefix(f.Name(), tempPrefix) && time.Since(info.ModTime()) > time.Hour:
			_ = os.Remove(path)
		case strings.HasSuffix(f.Name(), cacheSuffix) && inputGone(path):
			_ = os.Remove(path)
		case strings.HasSuffix(f.Name(), cacheSuffix):
			entries = append(entries, entry{path, info.Size(), info.ModTime()})
			total += info.Size()
		}
	}
	slices.SortFunc(entries, func(x, y entry) int { return x.used.Compare(y.used) })
	for _, e := range entries {
		if total <= maxCacheBytes {
			return
		}
		if os.Remove(e.path) == nil {
			total -= e.bytes
		}
	}
}

// inputGone reports whether an entry's trace is no longer where it was.
func inputGone(file string) bool {
	key, err := readKey(file)
	if err != nil || key.Path == "" {
		return false
	}
	_, err = os.Stat(key.Path)
	return errors.Is(err, fs.ErrNotExist)
}

// rename gives a cached index the path its input has been opened by now.
func rename(ix *traceindex.Index, path string) {
	old := ix.Meta.File
	ix.Meta.File = path
	for i := range ix.Warnings {
		if ix.Warnings[i].File == old {
			ix.Warnings[i].File = path
		}
	}
}
