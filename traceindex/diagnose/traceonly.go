package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"stepline/traceindex"
	"stepline/traceindex/attribute"
)

// Finding is a finding that the trace alone shows (TRC01–TRC16 of the catalogue).
type Finding struct {
	Rule, Name, Message string
	Place               attribute.Place
	Known               bool
	// NsPerStep is what it costs a step, Share that over the mean step; 0 where it has no price.
	NsPerStep int64
	Share     float64
	// Info tells that it is to be known rather than mended.
	Info bool
}

// observer collects findings.
type observer struct {
	a        *attribute.Attribution
	d        *Diagnosis
	settings Settings
	found    []Finding
}

func traceOnly(a *attribute.Attribution, d *Diagnosis, settings Settings) []Finding {
	if len(d.Steps) == 0 {
		o := observer{a: a, d: d, settings: settings}
		o.quality()
		return o.found
	}
	o := observer{a: a, d: d, settings: settings}
	o.loaderGap()
	o.communication()
	o.launchBound()
	o.pageableCopies()
	o.tensorCores()
	o.reservedMemory()
	o.straggler()
	o.recompilation()
	o.allocatorChurn()
	o.casts()
	o.syncLedger()
	o.optimizer()
	o.smallGrids()
	o.layouts()
	o.deviceCopies()
	o.quality()
	slices.SortStableFunc(o.found, func(x, y Finding) int { return cmp.Compare(y.NsPerStep, x.NsPerStep) })
	return o.found
}

// add keeps a finding if it is notable: large enough a part of the step.
func (o *observer) add(f Finding) {
	if o.d.StepMeanNs > 0 {
		f.Share = float64(f.NsPerStep) / float64(o.d.StepMeanNs)
	}
	if f.Share >= o.settings.NotableShare {
		o.found = append(o.found, f)
	}
}

func (o *observer) step() string { return Duration(o.d.StepMeanNs) }

func (o *observer) loaderGap() {
	var ns int64
	for i := range o.d.Steps {
		for _, g := range o.d.Steps[i].Gaps {
			if g.Cause == CauseLoader {
				ns += g.DurNs()
			}
		}
	}
	p, known := loaderPlace(o.a)
	per := o.d.perStep(ns)
	o.add(Finding{Rule: "TRC01", Name: "loader-gap", Place: p, Known: known, NsPerStep: per,
		Message: fmt.Sprintf("the GPU is idle %s of each %s step while the training thread waits for the loader: load in more worker processes, or make each sample cheaper", Duration(per), o.step())})
}

func (o *observer) communication() {
	var ns int64
	for i := range o.d.Steps {
		ns += o.d.Steps[i].ExposedCommunicationNs
	}
	p, known := exposedPlace(o.a)
	per := o.d.perStep(ns)
	o.add(Finding{Rule: "TRC02", Name: "exposed-communication", Place: p, Known: known, NsPerStep: per,
		Message: fmt.Sprintf("collectives run %s of each %s step with no compute beside them (waiting for other ranks included)", Duration(per), o.step())})
}

// launchBound counts kernels that started because their launch came, not because the GPU got free: the launch call began after
// everything before it on the GPU had ended, and the kernel was shorter than the call.
func (o *observer) launchBound() {
	var late, all int
	var idle int64
	for _, ix := range o.a.Run.Ranks {
		busyEnd := int64(-1 << 62)
		for _, e := range ix.GPUEvents {
			start := ix.Events.StartNs[e]
			call := ix.Launch[e]
			if call != traceindex.NoEvent && inSteps(ix, e) && ix.Events.Category[e] == traceindex.CategoryKernel {
				all++
				if ix.Events.StartNs[call] > busyEnd && ix.GPUDurNs(e) < ix.DurNs(call) {
					late++
				}
			}
			busyEnd = max(busyEnd, start+ix.GPUDurNs(e))
		}
	}
	for i := range o.d.Steps {
		for _, g := range o.d.Steps[i].Gaps {
			if g.Cause == CauseLaunch || g.Cause == CausePython {
				idle += g.DurNs()
			}
		}
	}
	if all == 0 || o.d.Class != LaunchBound {
		return
	}
	per := o.d.perStep(idle)
	o.add(Finding{Rule: "TRC03", Name: "launch-bound", NsPerStep: per,
		Message: fmt.Sprintf("the GPU is idle %s of each %s step because the host cannot launch fast enough; %s of the kernels are launched after the GPU ran dry and are shorter than their own launch call: fewer, larger kernels help (fused optimizers, torch.compile, CUDA graphs)", Duration(per), o.step(), percent(float64(late)/float64(all)))})
}

func (o *observer) pageableCopies() {
	type row struct {
		ns, bytes int64
		count     int
		place     attribute.Place
		known     bool
		direction string
	}
	rows := map[string]*row{}
	for rank, ix := range o.a.Run.Ranks {
		for _, g := range o.a.GPU(rank) {
			c, ok := ix.CopyOf(g.Event)
			if !ok || !c.Pageable || !inSteps(ix, g.Event) {
				continue
			}
			p, known := o.a.PlaceOf(g)
			k := fmt.Sprint(c.Direction, known, p.File, p.Line)
			if rows[k] == nil {
				rows[k] = &row{place: p, known: known, direction: c.Direction}
			}
			rows[k].ns += ix.GPUDurNs(g.Event)
			rows[k].bytes += max(0, c.Bytes)
			rows[k].count++
		}
	}
	for _, r := range rows {
		if r.ns == 0 {
			continue
		}
		o.add(Finding{Rule: "TRC04", Name: "pageable-copies", Place: r.place, Known: r.known, NsPerStep: o.d.perStep(r.ns),
			Message: fmt.Sprintf("%d copies (%s) from or to pageable memory take %s of each %s step: %.1f MB at %.1f GB/s; pinned memory is faster and does not block the host", r.count/max(1, len(o.d.Steps)), r.direction, Duration(o.d.perStep(r.ns)), o.step(), float64(o.d.perStep(r.bytes))/1e6, float64(r.bytes)/float64(r.ns))})
	}
}

// kernelPlace is the line with most of some kernels' time.
func (o *observer) kernelPlace(test func(string) bool) (attribute.Place, bool) {
	ns := map[placeKey]int64{}
	places := map[placeKey]attribute.Place{}
	var best placeKey
	for rank, ix := range o.a.Run.Ranks {
		verdict := map[traceindex.NameID]bool{}
		for _, g := range o.a.GPU(rank) {
			id := ix.Events.Name[g.Event]
			yes, seen := verdict[id]
			if !seen {
				yes = test(ix.Names[id])
				verdict[id] = yes
			}
			if !yes || !inSteps(ix, g.Event) {
				continue
			}
			p, ok := o.a.OnLine(g)
			if !ok || p.Line <= 0 {
				continue
			}
			k := keyOf(p)
			ns[k] += ix.GPUDurNs(g.Event)
			places[k] = p
			if ns[k] > ns[best] {
				best = k
			}
		}
	}
	p, ok := places[best]
	return p, ok
}

func (o *observer) kernels(rule, name string, test func(string) bool, message func(k kernelSum, per int64) string) {
	k := kernelsWhere(o.a.Run, test)
	if k.count == 0 {
		return
	}
	p, known := o.kernelPlace(test)
	per := o.d.perStep(k.ns)
	o.add(Finding{Rule: rule, Name: name, Place: p, Known: known, NsPerStep: per, Message: message(k, per)})
}

func (o *observer) tensorCores() {
	o.kernels("TRC05", "tensor-cores-unused", func(n string) bool { return TensorCoresOf(n) == TensorCoresUnused }, func(k kernelSum, per int64) string {
		return fmt.Sprintf("matrix kernels without tensor cores run %s of each %s step (%s): bf16/fp16 autocast or TF32 would use them", Duration(per), o.step(), shorten(k.name))
	})
}

func (o *observer) layouts() {
	o.kernels("TRC14", "layout-conversions", func(n string) bool {
		return strings.Contains(n, "nchwToNhwc") || strings.Contains(n, "nhwcToNchw")
	}, func(k kernelSum, per int64) string {
		return fmt.Sprintf("layout conversions between NCHW and NHWC run %s of each %s step: keep model and input in channels_last", Duration(per), o.step())
	})
}

func (o *observer) straggler() {
	for i := range o.d.Stragglers {
		s := &o.d.Stragglers[i]
		o.add(Finding{Rule: "TRC07", Name: "straggler", Place: s.Place, Known: s.Known, NsPerStep: s.WaitNs / int64(max(1, s.Steps)), Message: s.message(o.d)})
	}
}

// opTime sums the host ops of a name with the GPU time below them, per step.
func (o *observer) opGPUTime(test func(string) bool) (gpuNs int64, count int, place attribute.Place, known bool) {
	ns := map[placeKey]int64{}
	places := map[placeKey]attribute.Place{}
	var best placeKey
	for rank, ix := range o.a.Run.Ranks {
		verdict := map[traceindex.NameID]bool{}
		for _, g := range o.a.GPU(rank) {
			if g.Call == traceindex.NoEvent || !inSteps(ix, g.Event) {
				continue
			}
			hit := false
			for e := range ix.Ancestors(g.Call) {
				if ix.Events.Category[e] != traceindex.CategoryOp {
					continue
				}
				id := ix.Events.Name[e]
				yes, seen := verdict[id]
				if !seen {
					yes = test(ix.Names[id])
					verdict[id] = yes
				}
				hit = hit || yes
			}
			if !hit {
				continue
			}
			d := ix.GPUDurNs(g.Event)
			gpuNs += d
			count++
			if p, ok := o.a.OnLine(g); ok && p.Line > 0 {
				k := keyOf(p)
				ns[k] += d
				places[k] = p
				if ns[k] > ns[best] {
					best = k
				}
			}
		}
	}
	place, known = places[best]
	return gpuNs, count, place, known
}

func (o *observer) casts() {
	ns, count, p, known := o.opGPUTime(func(n string) bool { return n == "aten::_to_copy" })
	per := o.d.perStep(ns)
	o.add(Finding{Rule: "TRC10", Name: "cast-overhead", Place: p, Known: known, NsPerStep: per, Info: true,
		Message: fmt.Sprintf("casts and copies between types or devices (aten::_to_copy) run %s of each %s step in %d GPU events", Duration(per), o.step(), count/max(1, len(o.d.Steps)))})
}

func (o *observer) deviceCopies() {
	var ns, bytes int64
	var place attribute.Place
	var known bool
	for rank, ix := range o.a.Run.Ranks {
		for _, g := range o.a.GPU(rank) {
			if c, ok := ix.CopyOf(g.Event); ok && c.Direction == "DtoD" && inSteps(ix, g.Event) {
				ns += ix.GPUDurNs(g.Event)
				bytes += max(0, c.Bytes)
				if p, ok := o.a.OnLine(g); ok && !known {
					place, known = p, true
				}
			}
		}
	}
	per := o.d.perStep(ns)
	o.add(Finding{Rule: "TRC15", Name: "device-copies", Place: place, Known: known, NsPerStep: per, Info: true,
		Message: fmt.Sprintf("copies within the GPU take %s of each %s step (%.1f MB)", Duration(per), o.step(), float64(o.d.perStep(bytes))/1e6)})
}

// syncLedger lists the waiting calls with their waits and what they cost.
func (o *observer) syncLedger() {
	var wait, owed int64
	var count int
	for rank, ix := range o.a.Run.Ranks {
		span := ix.StepsSpan()
		for _, s := range o.a.Syncs(rank) {
			if end := ix.EndNs(s.Call); s.Copy || end <= span.StartNs || end > span.EndNs {
				continue
			}
			count++
			wait += ix.DurNs(s.Call)
			owed += o.d.OwedNs(rank, s.Call)
		}
	}
	if count == 0 {
		return
	}
	per := o.d.perStep(wait)
	o.add(Finding{Rule: "TRC11", Name: "sync-ledger", NsPerStep: o.d.perStep(owed), Info: true,
		Message: fmt.Sprintf("%d synchronisations a step: the host waits %s of each %s step in them, %s of GPU idle time follows from it", count/max(1, len(o.d.Steps)), Duration(per), o.step(), Duration(o.d.perStep(owed)))})
}

// optimizer says how large a part of the step the optimizer is.
func (o *observer) optimizer() {
	var host, kernels int64
	for _, ix := range o.a.Run.Ranks {
		span := ix.StepsSpan()
		first, end := ix.RowsOf(ix.TrainingThread)
		for row := first; row < end; row++ {
			if ix.Events.Category[row] != traceindex.CategoryAnnotation || !strings.HasPrefix(ix.Name(row), "Optimizer.step#") {
				continue
			}
			start, stop := ix.Events.StartNs[row], ix.Events.EndNs(row)
			if start < span.StartNs || start >= span.EndNs {
				continue
			}
			host += stop - start
			for _, call := range ix.CallsOf(traceindex.CallLaunch) {
				if s := ix.Events.StartNs[call]; s >= start && s < stop {
					kernels++
				}
			}
		}
	}
	per := o.d.perStep(host)
	o.add(Finding{Rule: "TRC12", Name: "optimizer-share", NsPerStep: per, Info: true,
		Message: fmt.Sprintf("the optimizer's step takes the host %s of each %s step and launches %d kernels", Duration(per), o.step(), o.d.perStep(kernels))})
}

// smallGrids sums kernels that cannot fill the GPU: less than one block per multiprocessor (kineto's "blocks per SM").
func (o *observer) smallGrids() {
	var ns int64
	for _, ix := range o.a.Run.Ranks {
		for _, e := range ix.GPUEvents {
			if d, ok := ix.GPUDetailOf(e); ok && inSteps(ix, e) && d.BlocksPerSM > 0 && d.BlocksPerSM < 1 && !traceindex.IsCollective(ix.Name(e)) {
				ns += ix.GPUDurNs(e)
			}
		}
	}
	per := o.d.perStep(ns)
	o.add(Finding{Rule: "TRC13", Name: "small-grids", NsPerStep: per, Info: true,
		Message: fmt.Sprintf("kernels with fewer blocks than the GPU has multiprocessors run %s of each %s step: larger batches or fused operations would fill it", Duration(per), o.step())})
}

func shorten(name string) string {
	r := []rune(name)
	if len(r) <= 60 {
		return name
	}
	return string(r[:59]) + "…"
}
