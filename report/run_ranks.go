package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"stepline/rules"
	"stepline/traceindex/diagnose"
	"stepline/traceindex/rankset"
)

// Set says what a run of indexed ranks is made of.
type Set struct {
	// Folders are those the ranks lie in, LeftOut counts ranks that could not be read.
	Folders []string
	LeftOut int
	// RunIDs and Hosts are the distinct ones, sorted.
	RunIDs, Hosts []string
	// HostOf is the host of each rank, by place in the run.
	HostOf []string
	// Detailed tells, by place in the run, whose steps have their gaps and phases; nil for all.
	Detailed map[int]bool
	// Findings are the lint's, as the ranks were indexed with them.
	Findings []rankset.MergedFinding
}

// notCarried says what a report on traces has and one on a set does not.
const notCarried = "indexed ranks carry sums: single kernels, ops and frames, the edits of fixes, and what Nsight Compute, NCCL logs and memory snapshots say of lines are told by a report on the traces themselves"

// limits are the sentences on what the set does not carry.
func (s *Set) limits(r *Run) []string {
	if s == nil {
		return nil
	}
	out := []string{notCarried}
	if ranks := s.detailedRanks(r); len(ranks) < len(r.RankNumbers) {
		out = append(out, fmt.Sprintf("gap by gap and phase by phase only the steps of ranks %s are shown (the slowest, the fastest, the median, most and least in communication); sums are over all ranks",
			strings.Trim(strings.ReplaceAll(fmt.Sprint(ranks), " ", ", "), "[]")))
	}
	if s.LeftOut > 0 {
		out = append(out, fmt.Sprintf("%s could not be read and %s in no number here; the warnings name them", Plural(s.LeftOut, "rank"), map[bool]string{true: "is", false: "are"}[s.LeftOut == 1]))
	}
	return out
}

// detailedRanks are the numbers of the ranks whose steps have their gaps and phases.
func (s *Set) detailedRanks(r *Run) []int {
	ranks := []int{}
	for place, number := range r.RankNumbers {
		if s.detailed(place) {
			ranks = append(ranks, number)
		}
	}
	return ranks
}

// detailed reports whether the steps of the rank at a place have their gaps and phases.
func (s *Set) detailed(place int) bool { return s == nil || s.Detailed == nil || s.Detailed[place] }

// detailed reports whether a step has its gaps and phases.
func (r *Run) detailed(step *diagnose.Step) bool { return r.Set.detailed(step.Rank) }

// shownRanks is from how many ranks on tables show the extremes only.
const shownRanks = 16

// shownStragglers bounds the sentences on late ranks, the worst first.
const shownStragglers = 8

// extremeRanks are the ranks that tables show: all, or the slowest and fastest with a sentence on the rest.
func (r *Run) extremeRanks() (rows []rankRow, rest string) {
	rows = r.rankRows()
	if len(rows) <= shownRanks {
		return rows, ""
	}
	var mean, busy, exposed int64
	for _, row := range rows {
		mean, busy, exposed = mean+row.MeanNs, busy+row.BusyNs, exposed+row.ExposedNs
	}
	n := int64(len(rows))
	slices.SortStableFunc(rows, func(a, b rankRow) int { return cmp.Compare(b.MeanNs, a.MeanNs) })
	slowest, median, fastest := rows[0], rows[len(rows)/2], rows[len(rows)-1]
	rest = fmt.Sprintf("%s: the step takes %s to %s on the mean of a rank (slowest rank %d, fastest rank %d, median %s); all together: GPU busy %s, %s of communication not hidden. The slowest and fastest:",
		Plural(len(rows), "rank"), Duration(float64(fastest.MeanNs)), Duration(float64(slowest.MeanNs)), slowest.Rank, fastest.Rank,
		Duration(float64(median.MeanNs)), Percent(share(busy, mean)), Duration(float64(exposed/n)))
	return slices.Concat(rows[:5], rows[len(rows)-3:]), rest
}

// stragglerSentences says who waits for whom, the worst first.
func (r *Run) stragglerSentences() []string {
	var out []string
	list := r.Diagnosis.Stragglers
	for i := range list[:min(shownStragglers, len(list))] {
		s := &list[i]
		text := fmt.Sprintf("%s waits for %s %s a step, in %s", s.WaitingName, s.Name, Duration(float64(s.WaitNs)/float64(max(1, s.Steps))), Plural(s.Collectives, "collective"))
		if s.Known {
			text += fmt.Sprintf("; %s is in %s:%d then", s.Name, s.Place.File, s.Place.Line)
		}
		out = append(out, text)
	}
	if more := len(list) - len(out); more > 0 {
		out = append(out, fmt.Sprintf("%s, each waited for less, in --format json", Plural(more, "more rank")))
	}
	return out
}

// lineSpread is how unevenly the ranks run a line, per step.
type lineSpread struct {
	File             string
	Line             int
	MinRank, MaxRank int
	MinNs, MaxNs     float64
	MeanNs           float64
}

// spreadLines is how many of the most expensive lines are looked at, spreadShare how far apart ranks are worth a word: a tenth.
const (
	spreadLines = 15
	spreadShare = 0.1
)

// unevenLines are the expensive lines that some rank runs notably longer than another, largest difference first.
func (r *Run) unevenLines() []lineSpread {
	count, _ := StepCount(r.Costs.Summary)
	steps := float64(count) / float64(max(1, r.Costs.Summary.Ranks))
	var out []lineSpread
	for _, l := range RankLines(r.Costs.Lines, OrderGPU, spreadLines) {
		if len(l.PerRankNs) < 2 || l.GPUNs() == 0 {
			continue
		}
		low, high := slices.Min(l.PerRankNs), slices.Max(l.PerRankNs)
		mean := float64(l.GPUNs()) / float64(len(l.PerRankNs))
		if float64(high-low) < spreadShare*mean {
			continue
		}
		out = append(out, lineSpread{
			File: l.File, Line: l.Line, MinRank: r.rank(slices.Index(l.PerRankNs, low)), MaxRank: r.rank(slices.Index(l.PerRankNs, high)),
			MinNs: float64(low) / steps, MaxNs: float64(high) / steps, MeanNs: mean / steps,
		})
	}
	slices.SortStableFunc(out, func(a, b lineSpread) int { return cmp.Compare(b.MaxNs-b.MinNs, a.MaxNs-a.MinNs) })
	return out
}

func (s *lineSpread) sentence() string {
	return fmt.Sprintf("%s:%d runs %s a step on rank %d, %s on rank %d, %s on the mean", s.File, s.Line, Duration(s.MaxNs), s.MaxRank, Duration(s.MinNs), s.MinRank, Duration(s.MeanNs))
}

// indexedFindings are the lint's findings that the ranks of a set were indexed with.
func (r *Run) indexedFindings() []pricedFinding {
	if r.Set == nil {
		return nil
	}
	var list []pricedFinding
	for i := range r.Set.Findings {
		f := &r.Set.Findings[i]
		row := pricedFinding{
			Rule: f.Rule, Name: f.Name, Message: f.Message, Severity: parseSeverity(f.Severity), File: f.File, Line: int(f.LineNumber),
			Verdict: parseVerdict(f.Verdict), LowNs: f.LowNs, HighNs: max(f.LowNs, f.HighNs), Share: f.Share, Evidence: f.Evidence,
		}
		if f.Fix != "" {
			row.Fix, row.Safety = f.Fix, parseSafety(f.Safety)
		}
		list = append(list, row)
	}
	return list
}

func parseSeverity(word string) rules.Severity {
	for _, s := range []rules.Severity{rules.Error, rules.Warning, rules.Info} {
		if s.String() == word {
			return s
		}
	}
	return rules.Hint
}

func parseVerdict(word string) rules.Verdict {
	for _, v := range []rules.Verdict{rules.Confirmed, rules.Refuted, rules.NotObserved} {
		if v.String() == word {
			return v
		}
	}
	return rules.VerdictNone
}

func parseSafety(word string) rules.Safety {
	for _, s := range []rules.Safety{rules.Unsafe, rules.Safe} {
		if s.String() == word {
			return s
		}
	}
	return rules.NoFix
}

// indexedFindingRows are the same for JSON, which has no edits for them.
func (r *Run) indexedFindingRows() []FindingRow {
	if r.Set == nil {
		return nil
	}
	var rows []FindingRow
	for i := range r.Set.Findings {
		f := &r.Set.Findings[i]
		row := FindingRow{
			Rule: f.Rule, Name: f.Name, Severity: f.Severity, Message: f.Message, File: f.File, Line: int(f.LineNumber), Column: int(f.Column),
			EndLine: int(f.EndLine), EndColumn: int(f.EndColumn), Related: []RelatedRow{}, Verdict: f.Verdict,
		}
		if v := parseVerdict(f.Verdict); v == rules.Confirmed || v == rules.Refuted {
			low, high, wait, part := Microseconds(f.LowNs), Microseconds(max(f.LowNs, f.HighNs)), Microseconds(f.WaitNs), f.Share
			row.CostUsPerStep, row.CostHighUsPerStep, row.CostShare, row.WaitUsPerStep = &low, &high, &part, &wait
		}
		rows = append(rows, row)
	}
	return rows
}

type (
	// SetRow is the "set" object of a report on indexed ranks.
	SetRow struct {
		Folders       []string `json:"folders"`
		RunIDs        []string `json:"run_ids"`
		Hosts         int      `json:"hosts"`
		RanksLeftOut  int      `json:"ranks_left_out"`
		DetailedRanks []int    `json:"detailed_ranks"`
		NotCarried    []string `json:"not_carried"`
	}
	// RankRow is one rank's mean step.
	RankRow struct {
		Rank                   int     `json:"rank"`
		Host                   string  `json:"host,omitempty"`
		Steps                  int     `json:"steps"`
		StepMeanUs             float64 `json:"step_mean_us"`
		GPUBusy                float64 `json:"gpu_busy"`
		ExposedCommunicationUs float64 `json:"exposed_communication_us"`
	}
)

func (r *Run) setRow() *SetRow {
	if r.Set == nil {
		return nil
	}
	return &SetRow{
		Folders: r.Set.Folders, RunIDs: r.Set.RunIDs, Hosts: len(r.Set.Hosts), RanksLeftOut: r.Set.LeftOut,
		DetailedRanks: r.Set.detailedRanks(r), NotCarried: r.Set.limits(r),
	}
}

// rankDocument lists the ranks, by number.
func (r *Run) rankDocument() []RankRow {
	rows := []RankRow{}
	hosts := map[int]string{}
	if r.Set != nil {
		for place, host := range r.Set.HostOf {
			hosts[r.rank(place)] = host
		}
	}
	for _, row := range r.rankRows() {
		rows = append(rows, RankRow{
			Rank: row.Rank, Host: hosts[row.Rank], Steps: row.Steps, StepMeanUs: Microseconds(row.MeanNs),
			GPUBusy: share(row.BusyNs, row.MeanNs), ExposedCommunicationUs: Microseconds(row.ExposedNs),
		})
	}
	return rows
}
