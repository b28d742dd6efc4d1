package lsp

import (
	"testing"

	"stepline/analysis"
	"stepline/traceindex"
)

// TestACardOfTheTraceStaysAsItIs asks for a line's card alone, together with what else is said there, and alone again: the first is
// shared by all versions of the text and must not take on what one of them adds.
func TestACardOfTheTraceStaysAsItIs(t *testing.T) {
	cost := &traceindex.LineCost{SelfNs: 2e6, Calls: 4, Confidence: traceindex.ConfidenceExact}
	trace := &loadedTrace{loaded: &analysis.Loaded{Costs: &traceindex.Costs{Summary: traceindex.Summary{Steps: 2, StepMeanNs: 4e6, GPUTotalNs: 4e6}}}}
	rows := []lineRow{{line: 7, cost: cost}}
	alone := &checked{lines: &lineView{trace: trace, rows: rows}}
	more := &checked{lines: &lineView{trace: trace, rows: rows, said: map[int][]string{7: {"TRC001 said here."}}}}
	twice := &checked{lines: &lineView{trace: trace, rows: append(rows, rows...)}}
	s := &server{}
	for _, markdown := range []bool{true, false} {
		want := "1.00 ms on the GPU a step · 50 % of its GPU time\nGPU forward: 1.00 ms  50 %\nRuns: 2 times\nConfidence: exact."
		if markdown {
			want = "**1.00 ms on the GPU a step · 50 % of its GPU time**\n\n| | | |\n|:--|--:|:--|\n| GPU forward | 1.00 ms | 50 % |\n| Runs | 2 times |  |\n\nConfidence: exact."
		}
		for i := range 2 {
			if got := s.costCard(alone, 7).render(markdown); got != want {
				t.Errorf("markdown %v, asked %d times before: got\n%s\nwant\n%s", markdown, i, got, want)
			}
			if got, sep := s.costCard(more, 7).render(markdown), map[bool]string{true: "\n\n", false: "\n"}[markdown]; got != want+sep+"TRC001 said here." {
				t.Errorf("markdown %v: with a sentence of the trace got\n%s", markdown, got)
			}
			if got := s.costCard(twice, 7); len(got.rows) != 4 || len(got.notes) != 2 {
				t.Errorf("two costs on a line give %d rows and %d notes, want 4 and 2", len(got.rows), len(got.notes))
			}
		}
	}
	if first, again := s.costCard(alone, 7), s.costCard(alone, 7); first != again {
		t.Error("a line's card was made twice")
	}
}
