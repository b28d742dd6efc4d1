package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"stepline/traceindex"
)

// LineOrder is a key by which lines are ranked, as `lines --sort` names it.
type LineOrder string

// The keys of `lines --sort`. Every key but OrderLine ranks the largest first.
const (
	OrderGPU      LineOrder = "gpu"      // forward and backward GPU time
	OrderForward  LineOrder = "forward"  // GPU time the line launched
	OrderBackward LineOrder = "backward" // GPU time of its backward
	OrderIdle     LineOrder = "idle"     // GPU idle while the training thread was in the line
	OrderBubble   LineOrder = "bubble"   // GPU idle after the line's synchronisations
	OrderSync     LineOrder = "sync"     // time waited in synchronisations
	OrderCopy     LineOrder = "copy"     // GPU copies
	OrderCPU      LineOrder = "cpu"      // training-thread time
	OrderKernels  LineOrder = "kernels"  // GPU events
	OrderCalls    LineOrder = "calls"    // executions
	OrderLine     LineOrder = "line"     // file, then line
)

// LineOrders lists every key, the default first.
var LineOrders = []LineOrder{OrderGPU, OrderForward, OrderBackward, OrderIdle, OrderBubble, OrderSync, OrderCopy, OrderCPU, OrderKernels, OrderCalls, OrderLine}

// ParseLineOrder reads a key; the error lists what there is.
func ParseLineOrder(text string) (LineOrder, error) {
	if slices.Contains(LineOrders, LineOrder(text)) {
		return LineOrder(text), nil
	}
	names := make([]string, len(LineOrders))
	for i, order := range LineOrders {
		names[i] = string(order)
	}
	return "", fmt.Errorf("unknown sort key %q; use one of %s", text, strings.Join(names, ", "))
}

// Value is what the key ranks a line by; 0 for OrderLine.
func (o LineOrder) Value(l *traceindex.LineCost) int64 {
	switch o {
	case OrderForward:
		return l.SelfNs
	case OrderBackward:
		return l.BackwardNs
	case OrderIdle:
		return l.GPUIdleNs
	case OrderBubble:
		return l.BubbleNs
	case OrderSync:
		return l.SyncNs
	case OrderCopy:
		return l.CopyNs
	case OrderCPU:
		return l.CPUNs
	case OrderKernels:
		return l.Kernels
	case OrderCalls:
		return l.Calls
	case OrderLine:
		return 0
	default:
		return l.GPUNs()
	}
}

// RankLines returns a copy of lines in the order's sequence (ties by file and line), cut to the first top rows if top > 0.
func RankLines(lines []traceindex.LineCost, order LineOrder, top int) []traceindex.LineCost {
	ranked := slices.Clone(lines)
	slices.SortStableFunc(ranked, func(a, b traceindex.LineCost) int {
		return cmp.Or(
			cmp.Compare(order.Value(&b), order.Value(&a)),
			cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Function, b.Function),
		)
	})
	if top > 0 && top < len(ranked) {
		ranked = ranked[:top]
	}
	return ranked
}
