package traceindex

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// However many ascending runs a thread's events come in (few are merged, many sorted), the rows are the same.
func TestOrderOfRuns(t *testing.T) {
	const events = 600
	build := func(order []int) []string {
		b := NewBuilder("trace")
		thread := b.Thread("1", "1", false)
		for _, i := range order {
			// Equal starts, lengths and names are among them: what is written first then comes first, and looks the same.
			b.Add(Event{StartNs: int64(i / 3 * 10), DurNs: int64(10 - i%3), Name: b.Name(fmt.Sprint("op", i%7)), Category: CategoryOp, Thread: thread, Link: uint64(i), Detail: -1, EvIdx: -1})
		}
		ix, err := b.Build(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		var rows []string
		for row := range EventID(ix.Events.Len()) {
			rows = append(rows, fmt.Sprint(ix.Events.StartNs[row], ix.Events.DurNs[row], ix.Name(row), ix.Events.Link[row], ix.Parent[row]))
		}
		return rows
	}
	inOrder := make([]int, events)
	for i := range inOrder {
		inOrder[i] = i
	}
	want := build(inOrder)
	random := rand.New(rand.NewPCG(1, 2))
	for _, runs := range []int{1, 2, 3, 5, 15, 16, 17, 40, events} {
		dealt := make([][]int, runs)
		for i := range events {
			r := random.IntN(runs)
			dealt[r] = append(dealt[r], i)
		}
		var order []int
		for _, d := range dealt {
			order = append(order, d...)
		}
		if d := cmp.Diff(want, build(order)); d != "" {
			t.Fatalf("%d runs: %s", runs, d)
		}
	}
}
