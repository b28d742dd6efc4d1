package traceindex

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

const (
	profilerStepPrefix  = "ProfilerStep#"
	optimizerStepPrefix = "Optimizer.step#"
)

// findSteps fills TrainingThread and Steps: the ranges torch.profiler writes for its steps ("ProfilerStep#7"); else from one
// optimizer step's end to the next one's; else from one start to the next of what repeats on the training thread.
func (ix *Index) findSteps() {
	ix.TrainingThread = ix.findTrainingThread()
	if ix.Steps = ix.profilerSteps(); len(ix.Steps) > 0 {
		return
	}
	if ix.Steps = ix.optimizerSteps(); len(ix.Steps) > 0 {
		return
	}
	ix.Steps = ix.patternSteps()
}

// findTrainingThread is the thread that holds the steps; else the optimizer's; else, among threads with Python frames if there
// are any, the one that made most runtime calls (backward threads run none of the loop).
func (ix *Index) findTrainingThread() ThreadID {
	n := len(ix.Threads)
	steps, optimizer, frames, calls := make([]int, n), make([]int, n), make([]int, n), make([]int, n)
	// What a name begins with is looked up once a name.
	const (
		unseen = iota
		isPlain
		isStep
		isOptimizer
	)
	kinds := make([]uint8, len(ix.Names))
	for _, t := range ix.HostThreads {
		first, end := ix.RowsOf(t)
		for row := first; row < end; row++ {
			switch ix.Events.Category[row] {
			case CategoryAnnotation, CategoryOp:
				kind := &kinds[ix.Events.Name[row]]
				if *kind == unseen {
					*kind = isPlain
					if name := ix.Name(row); strings.HasPrefix(name, profilerStepPrefix) {
						*kind = isStep
					} else if strings.HasPrefix(name, optimizerStepPrefix) {
						*kind = isOptimizer
					}
				}
				switch *kind {
				case isStep:
					steps[t]++
				case isOptimizer:
					optimizer[t]++
				}
				calls[t]++
			case CategoryPython:
				frames[t]++
			case CategoryRuntime:
				calls[t] += 4
			}
		}
	}
	best := ThreadID(-1)
	for _, t := range ix.HostThreads {
		if best < 0 || cmp.Or(cmp.Compare(steps[t], steps[best]), cmp.Compare(optimizer[t], optimizer[best]),
			cmp.Compare(min(frames[t], 1), min(frames[best], 1)), cmp.Compare(calls[t], calls[best]),
			cmp.Compare(frames[t], frames[best])) > 0 {
			best = t
		}
	}
	return best
}

func (ix *Index) profilerSteps() []Step {
	ev := &ix.Events
	// Versions before 1.9 write the range as an op.
	isStep := func(row EventID) bool {
		c := ev.Category[row]
		return (c == CategoryAnnotation || c == CategoryOp) && strings.HasPrefix(ix.Name(row), profilerStepPrefix)
	}
	n := 0
	for row := range EventID(ev.Len()) {
		if isStep(row) {
			n++
		}
	}
	steps := make([]Step, 0, n)
	for row := range EventID(ev.Len()) {
		if !isStep(row) {
			continue
		}
		number, err := strconv.Atoi(ix.Name(row)[len(profilerStepPrefix):])
		if err != nil {
			number = len(steps)
		}
		steps = append(steps, Step{Number: number, StartNs: ev.StartNs[row], EndNs: ev.EndNs(row), Source: "ProfilerStep"})
	}
	slices.SortFunc(steps, func(x, y Step) int { return cmp.Or(cmp.Compare(x.StartNs, y.StartNs), cmp.Compare(x.EndNs, y.EndNs)) })
	return steps
}

// optimizerSteps are the spans from one optimizer step's end to the next one's. With several optimizers, the one that steps
// least often closes a step.
func (ix *Index) optimizerSteps() []Step {
	ends := map[NameID][]int64{}
	if ix.TrainingThread < 0 {
		return nil
	}
	first, end := ix.RowsOf(ix.TrainingThread)
	startNs := int64(0)
	for row := end - 1; row >= first; row-- {
		if ix.Events.Category[row].IsHost() {
			startNs = ix.Events.StartNs[row]
		}
	}
	for row := first; row < end; row++ {
		if c := ix.Events.Category[row]; (c == CategoryAnnotation || c == CategoryOp) && strings.HasPrefix(ix.Name(row), optimizerStepPrefix) {
			n := ix.Events.Name[row]
			ends[n] = append(ends[n], ix.Events.EndNs(row))
		}
	}
	var rarest []int64
	var rarestName NameID
	for n, e := range ends {
		if rarest == nil || len(e) < len(rarest) || (len(e) == len(rarest) && ix.Names[n] < ix.Names[rarestName]) {
			rarest, rarestName = e, n
		}
	}
	var steps []Step
	for i, e := range rarest {
		steps = append(steps, Step{Number: i, StartNs: startNs, EndNs: e, Source: "Optimizer.step"})
		startNs = e
	}
	return steps
}

// patternSteps takes the outermost thing on the training thread that happens again and again and fills most of the time: from
// one start to the next. Only what launches GPU work counts.
func (ix *Index) patternSteps() []Step {
	if ix.TrainingThread < 0 {
		return nil
	}
	type candidate struct {
		starts        []int64
		lastEnd, inNs int64
		depth         int
	}
	first, end := ix.RowsOf(ix.TrainingThread)
	type key struct {
		name  NameID
		depth int
	}
	found := map[key]*candidate{}
	var ends []int64
	var spanNs int64
	begin := int64(-1)
	for row := first; row < end; row++ {
		c := ix.Events.Category[row]
		if c != CategoryPython && c != CategoryOp {
			continue
		}
		start, stop := ix.Events.StartNs[row], ix.EndNs(row)
		if begin < 0 {
			begin = start
		}
		spanNs = max(spanNs, stop-begin)
		for len(ends) > 0 && ends[len(ends)-1] <= start {
			ends = ends[:len(ends)-1]
		}
		ends = append(ends, stop)
		if len(ends) > 24 || !ix.launchesWork(row) {
			continue
		}
		k := key{ix.Events.Name[row], len(ends)}
		f := found[k]
		if f == nil {
			f = &candidate{depth: len(ends)}
			found[k] = f
		}
		f.starts = append(f.starts, start)
		f.lastEnd = stop
		f.inNs += stop - start
	}
	var best *candidate
	var bestName string
	for k, f := range found {
		if len(f.starts) < 2 || f.inNs*2 < spanNs {
			continue
		}
		name := ix.Names[k.name]
		if best == nil || f.depth < best.depth || (f.depth == best.depth && (f.inNs > best.inNs || (f.inNs == best.inNs && name < bestName))) {
			best, bestName = f, name
		}
	}
	if best == nil {
		return nil
	}
	steps := make([]Step, len(best.starts))
	for i, s := range best.starts {
		steps[i] = Step{Number: i, StartNs: s, EndNs: best.lastEnd, Source: "pattern"}
		if i > 0 {
			steps[i-1].EndNs = s
		}
	}
	return steps
}

// launchesWork reports whether a GPU event was launched from under row.
func (ix *Index) launchesWork(row EventID) bool {
	i, _ := slices.BinarySearch(ix.launchRows, row)
	return i < len(ix.launchRows) && ix.launchRows[i] < ix.subtreeEnd[row]
}
