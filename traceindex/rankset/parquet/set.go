package parquet

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"stepline/traceindex"
	"stepline/traceindex/attribute"
	"stepline/traceindex/rankset"
)

var rankName = regexp.MustCompile(`^rank=(0|[1-9]\d{0,8})$`)

// IsSet reports whether a path is the folder of a set: one with a ranks table.
func IsSet(path string) bool {
	found, err := os.ReadDir(filepath.Join(path, heads))
	return err == nil && slices.ContainsFunc(found, func(e os.DirEntry) bool { return strings.HasPrefix(e.Name(), "rank=") })
}

// Set is one or several folders of ranks, opened.
type Set struct {
	dirs  []string
	ranks []member // by rank
	// Warnings name what is in the folders and was not read, and why.
	Warnings []traceindex.Warning
	// LeftOut counts the ranks that could not be read.
	LeftOut int
}

// member is a rank of a set, with its head read.
type member struct {
	dir  string
	head *rankset.Rank
	origin
}

// Open reads the heads (tables ranks and steps) of all ranks in folders. It fails only where no rank can be read, and when ctx
// ends.
func Open(ctx context.Context, dirs []string) (*Set, error) {
	s := &Set{dirs: dirs}
	var found []member
	for _, dir := range dirs {
		numbers, err := s.list(dir)
		if err != nil {
			return nil, err
		}
		for _, n := range numbers {
			found = append(found, member{dir: dir, head: &rankset.Rank{Number: n}})
		}
	}
	failures := make([]error, len(found))
	if err := forEach(ctx, len(found), func(d *decoder, i int) error {
		m := &found[i]
		m.origin, failures[i] = m.readTables(d, m.head, []string{heads, "steps"})
		return nil
	}); err != nil {
		return nil, err
	}
	for i, m := range found {
		if failures[i] != nil {
			s.leaveOut(m, failures[i])
			continue
		}
		s.ranks = append(s.ranks, m)
	}
	s.dropDoubles()
	if len(s.ranks) == 0 {
		return nil, fmt.Errorf("%s: no rank of the set can be used%s", strings.Join(dirs, ", "), s.firstTrouble())
	}
	s.judge()
	return s, nil
}

func (s *Set) firstTrouble() string {
	if len(s.Warnings) == 0 {
		return ""
	}
	return "; the first: " + s.Warnings[0].Message
}

func (s *Set) warn(code, file, format string, args ...any) {
	s.Warnings = append(s.Warnings, traceindex.Warning{Code: code, File: file, Message: fmt.Sprintf(format, args...)})
}

func (s *Set) leaveOut(m member, err error) {
	s.LeftOut++
	s.warn("rank-left-out", m.dir, "rank %d is left out: %v", m.head.Number, err)
}

// list finds the ranks of a folder, and tells of what looks like a rank and is none.
func (s *Set) list(dir string) ([]int, error) {
	entries, err := os.ReadDir(filepath.Join(dir, heads))
	if err != nil {
		return nil, err
	}
	var numbers []int
	known := map[string]bool{}
	for _, e := range entries {
		path := filepath.Join(dir, heads, e.Name())
		match := rankName.FindStringSubmatch(e.Name())
		if match == nil {
			if !strings.HasPrefix(e.Name(), ".") && !strings.HasPrefix(e.Name(), "_") {
				s.warn("foreign-file", path, "%s is no rank's folder (rank=NUMBER) and was not read", path)
			}
			continue
		}
		files, _ := os.ReadDir(path)
		here := false
		for _, f := range files {
			switch {
			case f.Name() == partName:
				here = true
			case strings.HasSuffix(f.Name(), ".parquet") && !strings.HasPrefix(f.Name(), "."):
				s.warn("duplicate-file", filepath.Join(path, f.Name()), "%s stands beside %s and was not read; SQL over the folder counts it twice", filepath.Join(path, f.Name()), partName)
			}
		}
		if !here {
			continue // told below: other tables have it
		}
		n, _ := strconv.Atoi(match[1])
		numbers, known[e.Name()] = append(numbers, n), true
	}
	begun, _ := os.ReadDir(filepath.Join(dir, Tables[0].Name))
	for _, e := range begun {
		if rankName.MatchString(e.Name()) && !known[e.Name()] {
			s.LeftOut++
			s.warn("rank-left-out", dir, "rank %s is left out: it was not written to its end (no %s); index it again", strings.TrimPrefix(e.Name(), "rank="), filepath.Join(heads, e.Name(), partName))
		}
	}
	return numbers, nil
}

// readTables reads some of a member's tables into rank; all must come from one writing.
func (m *member) readTables(d *decoder, rank *rankset.Rank, tables []string) (origin, error) {
	from := m.origin
	for _, name := range tables {
		o, err := d.read(filepath.Join(rankFolder(m.dir, name, m.head.Number), partName), tableNamed(name), rank)
		if err != nil {
			return from, err
		}
		if from.writing == "" {
			from = o
		}
		if o.writing != from.writing {
			return from, fmt.Errorf("its tables %s and %s are of two writings (a job was stopped in the midst, or is writing now): index it again", heads, name)
		}
	}
	return from, nil
}

// Read is everything the set at dir has of one rank.
func Read(dir string, number int) (*rankset.Rank, error) {
	rank := &rankset.Rank{Number: number}
	m := member{dir: dir, head: rank}
	names := make([]string, len(Tables))
	for i := range Tables {
		names[i] = Tables[i].Name
	}
	_, err := m.readTables(newDecoder(), rank, names)
	return rank, err
}

// dropDoubles keeps the latest of ranks that are in several folders.
func (s *Set) dropDoubles() {
	slices.SortStableFunc(s.ranks, func(x, y member) int {
		return cmp.Or(cmp.Compare(x.head.Number, y.head.Number), cmp.Compare(y.time, x.time))
	})
	kept := s.ranks[:0]
	for _, m := range s.ranks {
		if n := len(kept); n > 0 && kept[n-1].head.Number == m.head.Number {
			s.LeftOut++
			s.warn("same-rank", m.dir, "rank %d is in %s and %s; the one indexed last, of %s, is used", m.head.Number, kept[n-1].dir, m.dir, kept[n-1].time)
			continue
		}
		kept = append(kept, m)
	}
	s.ranks = kept
}

// judge tells what is wrong with the set as a whole.
func (s *Set) judge() {
	world, runs := 0, map[string]int{}
	have := map[int]bool{}
	for _, m := range s.ranks {
		world = max(world, int(m.head.Info.WorldSize))
		runs[m.head.Info.RunID]++
		have[m.head.Number] = true
	}
	if len(runs) > 1 {
		names := make([]string, 0, len(runs))
		for name, n := range runs {
			names = append(names, fmt.Sprintf("%q (%d ranks)", name, n))
		}
		sort.Strings(names)
		s.warn("several-runs", "", "the set holds ranks of several runs, read as one: %s; give each run a folder of its own", strings.Join(names, ", "))
	}
	var missing []int
	for n := range world {
		if !have[n] {
			missing = append(missing, n)
		}
	}
	if len(missing) > 0 {
		s.warn("missing-ranks", "", "%d of %d ranks are here; missing: %s", world-len(missing), world, ranges(missing))
	}
}

// ranges writes numbers in order as "3, 17, 200–209", the first twenty groups.
func ranges(numbers []int) string {
	var words []string
	for i := 0; i < len(numbers); {
		j := i
		for j+1 < len(numbers) && numbers[j+1] == numbers[j]+1 {
			j++
		}
		if len(words) == 20 {
			words = append(words, "…")
			break
		}
		switch {
		case j == i:
			words = append(words, strconv.Itoa(numbers[i]))
		default:
			words = append(words, fmt.Sprintf("%d–%d", numbers[i], numbers[j]))
		}
		i = j + 1
	}
	return strings.Join(words, ", ")
}

// forEach does something for each of n, several at a time; each worker has its own decoder.
func forEach(ctx context.Context, n int, do func(d *decoder, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	next := make(chan int)
	group.Go(func() error {
		defer close(next)
		for i := range n {
			select {
			case next <- i:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	// File systems of clusters answer slowly and many at a time.
	for range max(4, runtime.GOMAXPROCS(0)) {
		group.Go(func() error {
			d := newDecoder()
			for i := range next {
				if err := do(d, i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// Only keeps one rank; false if the set does not have it.
func (s *Set) Only(rank int) bool {
	i := slices.IndexFunc(s.ranks, func(m member) bool { return m.head.Number == rank })
	if i < 0 {
		return false
	}
	s.ranks = s.ranks[i : i+1 : i+1]
	return true
}

// Numbers are the ranks in the set.
func (s *Set) Numbers() []int {
	numbers := make([]int, len(s.ranks))
	for i, m := range s.ranks {
		numbers[i] = m.head.Number
	}
	return numbers
}

// Want says what a merge is for: what nobody asks about is not read.
type Want struct {
	// Diagnosis reads what the diagnosis and its tables rest on, Gaps the gaps and phases of the detailed ranks as well.
	Diagnosis, Gaps bool
}

func (w Want) tables(detailed bool) []string {
	tables := []string{"lines", "gpu", "notes"}
	if w.Diagnosis {
		tables = append(tables, "idle", "collectives", "findings")
	}
	if w.Gaps && detailed {
		tables = append(tables, "gaps", "phases")
	}
	return tables
}

// Merge reads all ranks and puts them together. Ranks whose files turn out to be damaged are left out as if they were not there.
// progress is told how many ranks of how many are done; it may be nil.
func (s *Set) Merge(ctx context.Context, want Want, progress func(done, total int)) (*rankset.Run, error) {
	for {
		merge, failures, err := s.mergeOnce(ctx, want, progress)
		if err != nil {
			return nil, err
		}
		if len(failures) == 0 {
			return merge.Run(s.split()), nil
		}
		kept := s.ranks[:0:0]
		for i, m := range s.ranks {
			if failure := failures[i]; failure != nil {
				s.leaveOut(m, failure)
				continue
			}
			kept = append(kept, m)
		}
		if s.ranks = kept; len(kept) == 0 {
			return nil, fmt.Errorf("%s: no rank of the set can be used%s", strings.Join(s.dirs, ", "), s.firstTrouble())
		}
	}
}

// mergeOnce tells which ranks, by position, cannot be read.
func (s *Set) mergeOnce(ctx context.Context, want Want, progress func(done, total int)) (*rankset.Merge, map[int]error, error) {
	all := make(rankset.Heads, len(s.ranks))
	for i, m := range s.ranks {
		all[i] = m.head
	}
	detailed := all.Detailed()
	merge := rankset.NewMerge(all, detailed)
	failures := map[int]error{}
	var mu sync.Mutex
	turn, moved := 0, sync.NewCond(&mu)
	err := forEach(ctx, len(s.ranks), func(d *decoder, i int) error {
		m := &s.ranks[i]
		rank := &rankset.Rank{Number: m.head.Number}
		_, failure := m.readTables(d, rank, want.tables(detailed[i]))
		mu.Lock()
		defer mu.Unlock()
		for turn != i { // in order of rank, so that the same set gives the same sums to the last digit
			moved.Wait()
		}
		turn++
		moved.Broadcast()
		if progress != nil {
			progress(turn, len(s.ranks))
		}
		if failure != nil {
			failures[i] = failure
			return nil
		}
		merge.Add(i, rank)
		return nil
	})
	return merge, failures, err
}

// split answers where a rank's training thread was, from its timeline, which is read when first asked for.
func (s *Set) split() func(rank int, v traceindex.Interval) []attribute.Share {
	timelines := map[int][]rankset.Span{}
	d := newDecoder()
	return func(rank int, v traceindex.Interval) []attribute.Share {
		spans, known := timelines[rank]
		if !known {
			r := &rankset.Rank{Number: s.ranks[rank].head.Number}
			if _, err := s.ranks[rank].readTables(d, r, []string{"timeline"}); err != nil {
				s.warn("no-timeline", s.ranks[rank].dir, "where rank %d was while others waited for it is not known: %v", r.Number, err)
			}
			spans = r.Timeline
			timelines[rank] = spans
		}
		return rankset.Split(spans, v)
	}
}
