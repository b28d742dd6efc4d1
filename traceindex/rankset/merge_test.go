package rankset

import (
	"fmt"
	"testing"

	"stepline/traceindex"
	"stepline/traceindex/attribute"
)

func merged(ranks ...*Rank) *Run {
	m := NewMerge(ranks, Heads(ranks).Detailed())
	for i, r := range ranks {
		m.Add(i, r)
	}
	return m.Run(func(rank int, v traceindex.Interval) []attribute.Share { return Split(ranks[rank].Timeline, v) })
}

// oneStep is a rank with one step of a length and some gaps.
func oneStep(number int, durationNs, exposedNs, gaps int64) *Rank {
	return &Rank{Number: number, Info: Info{StepCount: 1, SpanEndNs: durationNs}, Steps: []Step{{DurationNs: durationNs, BusyNs: durationNs, ExposedCommunicationNs: exposedNs, ComputeNs: durationNs - exposedNs, GapCount: gaps}}}
}

// TestDetailed: a small run is told gap by gap, of a large one the ranks at the ends and in the middle.
func TestDetailed(t *testing.T) {
	var small, large Heads
	for n := range 50 {
		small = append(small, oneStep(n, 1000, 0, 10))
		exposed := int64(100)
		switch n {
		case 30:
			exposed = 900
		case 40:
			exposed = 0
		}
		large = append(large, oneStep(n, 1000+int64(n*7%50), exposed, 5000))
	}
	if got := len(small.Detailed()); got != 50 {
		t.Errorf("%d of 50 ranks of a small run", got)
	}
	got := large.Detailed()
	for what, rank := range map[string]int{"fastest": 0, "slowest": 7, "most communication": 30, "least communication": 40, "middle": 32} { // 7·7 = 49, 32·7 % 50 = 24
		if !got[rank] {
			t.Errorf("the %s rank, %d, is not among %v", what, rank, got)
		}
	}
	if len(got) > 5 {
		t.Errorf("%d ranks in detail", len(got))
	}
}

// TestFollow: a line stays where its text is, moves with it, and is another line where the text is another.
func TestFollow(t *testing.T) {
	run := func(lines map[int64]string) *Run {
		r := oneStep(0, 1000, 0, 0)
		for number, source := range lines {
			r.Lines = append(r.Lines, Line{File: "a.py", Number: number, Source: source, ForwardNs: 1})
		}
		return merged(r)
	}
	follow := Follow(run(map[int64]string{1: "a = f()", 2: "b = g()", 3: "c = h()", 4: "d = k()"}), run(map[int64]string{1: "a = f()", 5: "b = g()", 3: "c = other()", 6: "e()", 7: "e()"}))
	for line, want := range map[int]string{1: "1 true", 2: "5 true", 3: "0 false", 4: "4 true"} {
		to, same := follow("a.py", line)
		if got := fmt.Sprint(to, same); got != want {
			t.Errorf("line %d goes to %s, want %s", line, got, want)
		}
	}
}

// TestMended: what was confirmed and is gone is mended; what moved with its line, was not confirmed, or lies in a file that did not
// run again, is not.
func TestMended(t *testing.T) {
	run := func(lines []Line, findings ...Finding) *Run {
		r := oneStep(0, 1000, 0, 0)
		for _, l := range lines {
			l.ForwardNs = 1
			r.Lines = append(r.Lines, l)
		}
		for _, f := range findings {
			f.Kind, f.Rule = KindLint, "SYN001"
			r.Findings = append(r.Findings, f)
		}
		return merged(r)
	}
	sync := Line{File: "a.py", Number: 2, Source: "x = loss.item()"}
	moved := Line{File: "a.py", Number: 9, Source: "x = loss.item()"}
	base := run([]Line{sync, {File: "a.py", Number: 4, Source: "y = z.cpu()"}, {File: "b.py", Number: 1, Source: "w = v.item()"}},
		Finding{Verdict: "confirmed", File: "a.py", LineNumber: 2, LowNs: 10}, Finding{Verdict: "confirmed", File: "a.py", LineNumber: 4, LowNs: 20},
		Finding{Verdict: "refuted", File: "a.py", LineNumber: 5}, Finding{Verdict: "confirmed", File: "b.py", LineNumber: 1, LowNs: 30})
	gone := Mended(base, run([]Line{moved}, Finding{Verdict: "confirmed", File: "a.py", LineNumber: 9, LowNs: 10}))
	if len(gone) != 1 || gone[0].LineNumber != 4 {
		t.Errorf("mended: %+v", gone)
	}
}

// TestFindingsOfRanks: costs are means over the ranks' steps, those of communication go from the least to the most of any rank.
func TestFindingsOfRanks(t *testing.T) {
	rank := func(number int, low, high int64) *Rank {
		r := oneStep(number, 10_000, 0, 0)
		for _, price := range []string{"P-sync", PricedByCollectives} {
			r.Findings = append(r.Findings, Finding{Kind: KindLint, Rule: price, Verdict: "confirmed", File: "a.py", LineNumber: 1, LowNs: low, HighNs: high, Price: price, Message: fmt.Sprint("of rank ", number)})
		}
		return r
	}
	run := merged(rank(0, 100, 300), rank(1, 300, 500), oneStep(2, 10_000, 0, 0), rank(3, 0, 400))
	if len(run.Findings) != 2 {
		t.Fatalf("%d findings", len(run.Findings))
	}
	for _, f := range run.Findings {
		low, high := int64(100), int64(300) // over four steps
		if f.Rule == PricedByCollectives {
			low, high = 0, 500
		}
		if f.LowNs != low || f.HighNs != high || f.Ranks != 3 || f.WorstRank != 1 || f.Message != "on 3 of 4 ranks; on rank 1, the worst: of rank 1" {
			t.Errorf("%s: %d to %d ns on %d ranks, %q", f.Rule, f.LowNs, f.HighNs, f.Ranks, f.Message)
		}
	}
}

// TestNotesAreToldOnce: what many ranks' traces have in common is one sentence that counts them.
func TestNotesAreToldOnce(t *testing.T) {
	var ranks []*Rank
	for n := range 3 {
		r := oneStep(n, 1000, 0, 0)
		r.Notes = []Note{{Kind: NoteQuality, Code: "cut-frames", Message: fmt.Sprintf("%d frames", n), File: fmt.Sprintf("rank%d.json", n)}}
		ranks = append(ranks, r)
	}
	quality := merged(ranks...).Diagnosis.Quality
	if len(quality) != 1 || quality[0].Message != "on 3 of 3 ranks, as in rank0.json: 0 frames" {
		t.Errorf("quality: %+v", quality)
	}
}
