package load

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"stepline/traceindex"
)

// Names in use: rank-3.Jul_15.json, trace_rank3.json, rank_3, worker0.1694.pt.trace.json, benchmark_result_…; the word must not
// be part of a longer one ("crank3").
var (
	rankWord   = regexp.MustCompile(`(?i)(?:^|[^a-z])rank[-_.=]?0*(\d{1,6})(?:\D|$)`)
	globalRank = regexp.MustCompile(`(?i)(?:^|[^a-z])global[-_.]?rank[-_.=]?0*(\d{1,6})(?:\D|$)`)
	localRank  = regexp.MustCompile(`(?i)local[-_.]?rank[-_.=]?\d+`)
	workerWord = regexp.MustCompile(`(?i)(?:^|[^a-z])worker[-_.=]?0*(\d{1,6})(?:\D|$)`)
)

// rankOfName finds a rank in a file's name. Of several, the last counts, but for one that is called global; one that is called
// local is only the rank on its host.
func rankOfName(name string) (int, bool) {
	if m := globalRank.FindStringSubmatch(name); m != nil {
		n, err := strconv.Atoi(m[1])
		return n, err == nil
	}
	name = localRank.ReplaceAllString(name, "")
	for _, word := range []*regexp.Regexp{rankWord, workerWord} {
		if all := word.FindAllStringSubmatch(name, -1); len(all) > 0 {
			n, err := strconv.Atoi(all[len(all)-1][1])
			return n, err == nil
		}
	}
	return 0, false
}

// arrange puts the ranks in order and tells of doubles and gaps. Ranks stay apart whatever ids they share.
func arrange(run *traceindex.Run) {
	slices.SortStableFunc(run.Ranks, func(x, y *traceindex.Index) int {
		return cmp.Or(cmp.Compare(uint(x.Meta.Rank), uint(y.Meta.Rank)), naturalCompare(x.Meta.File, y.Meta.File))
	})
	ranksOfFolders(run.Ranks)
	dropCopies(run)
	for _, ix := range run.Ranks {
		run.Files = append(run.Files, ix.Meta.File)
	}
	if len(run.Ranks) < 2 {
		return
	}
	used := map[int]string{}
	world := 0
	for _, ix := range run.Ranks {
		world = max(world, ix.Meta.WorldSize)
		if ix.Meta.Rank < 0 {
			continue
		}
		if other, ok := used[ix.Meta.Rank]; ok {
			run.Warnings = append(run.Warnings, traceindex.Warning{Code: "same-rank", File: ix.Meta.File,
				Message: fmt.Sprintf("rank %d is also that of %s; both are kept, each on its own", ix.Meta.Rank, other)})
			continue
		}
		used[ix.Meta.Rank] = ix.Meta.File
	}
	next := 0
	for _, ix := range run.Ranks { // files that name no rank get the free numbers, in order of name
		if ix.Meta.Rank >= 0 {
			continue
		}
		for used[next] != "" {
			next++
		}
		ix.Meta.Rank = next
		used[next] = ix.Meta.File
	}
	if world > 0 && len(used) < world {
		run.Warnings = append(run.Warnings, traceindex.Warning{Code: "missing-ranks", Message: fmt.Sprintf("%d of %d ranks are here", len(used), world)})
	}
	slices.SortStableFunc(run.Ranks, func(x, y *traceindex.Index) int { return cmp.Compare(x.Meta.Rank, y.Meta.Rank) })
	for i, ix := range run.Ranks {
		run.Files[i] = ix.Meta.File
	}
}

// ranksOfFolders gives files that name no rank that of the folders they lie in (rank_3/trace.json), if those tell them all apart.
func ranksOfFolders(ranks []*traceindex.Index) {
	taken := map[int]bool{}
	named := map[*traceindex.Index]int{}
	for _, ix := range ranks {
		n := ix.Meta.Rank
		if n < 0 {
			var ok bool
			if n, ok = rankOfName(filepath.Base(filepath.Dir(ix.Meta.File))); !ok {
				continue
			}
			named[ix] = n
		}
		if taken[n] {
			return
		}
		taken[n] = true
	}
	if len(ranks) < 2 {
		return
	}
	for ix, n := range named {
		ix.Meta.Rank = n
	}
}

// dropCopies takes a trace once that lies there twice, as X.json and X.json.gz do: files of the same rank, or of the same name but
// for its ending, with the same events.
func dropCopies(run *traceindex.Run) {
	var kept []*traceindex.Index
	for _, ix := range run.Ranks {
		i := slices.IndexFunc(kept, func(other *traceindex.Index) bool {
			return other.Meta.Rank == ix.Meta.Rank && (ix.Meta.Rank >= 0 || stemOf(other.Meta.File) == stemOf(ix.Meta.File)) && sameEvents(other, ix)
		})
		if i < 0 {
			kept = append(kept, ix)
			continue
		}
		run.Warnings = append(run.Warnings, traceindex.Warning{Code: "same-trace", File: ix.Meta.File,
			Message: fmt.Sprintf("it holds the same events as %s; they count once", kept[i].Meta.File)})
	}
	run.Ranks = kept
}

// stemOf is a trace's path without what says how it is packed.
func stemOf(path string) string {
	for _, ending := range []string{".gz", ".zip", ".json"} {
		path = strings.TrimSuffix(path, ending)
	}
	return path
}

// sameEvents reports whether two traces are of one recording: no two recordings agree in every start, length, id and name.
func sameEvents(x, y *traceindex.Index) bool {
	same := x.Meta.BaseUnixNs == y.Meta.BaseUnixNs && x.Events.Len() > 0 && slices.Equal(x.Events.StartNs, y.Events.StartNs) &&
		slices.Equal(x.Events.DurNs, y.Events.DurNs) && slices.Equal(x.Events.Link, y.Events.Link) && slices.Equal(x.Events.Category, y.Events.Category)
	for row := traceindex.EventID(0); same && int(row) < x.Events.Len(); row++ {
		same = x.Name(row) == y.Name(row)
	}
	return same
}

// naturalCompare orders names with their numbers as numbers: host_2 before host_10.
func naturalCompare(x, y string) int {
	for x != "" && y != "" {
		if isDigit(x[0]) && isDigit(y[0]) {
			p, restX := digits(x)
			q, restY := digits(y)
			if c := cmp.Or(cmp.Compare(len(p), len(q)), cmp.Compare(p, q)); c != 0 {
				return c
			}
			x, y = restX, restY
			continue
		}
		if x[0] != y[0] {
			return cmp.Compare(x[0], y[0])
		}
		x, y = x[1:], y[1:]
	}
	return cmp.Compare(len(x), len(y))
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// digits splits off the leading number, without its zeros.
func digits(s string) (number, rest string) {
	i := 0
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	number = s[:i]
	for len(number) > 1 && number[0] == '0' {
		number = number[1:]
	}
	return number, s[i:]
}
