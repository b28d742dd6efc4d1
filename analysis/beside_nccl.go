package analysis

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"stepline/pyscan"
	"stepline/report"
	"stepline/traceindex"
	"stepline/traceindex/nccl"
)

// maxInitCalls bounds the calls of init_process_group that are named: a repository of examples has hundreds.
const maxInitCalls = 8

// ncclPart is what NCCL's logs say, on the line of init_process_group.
func (w *Workspace) ncclPart(ctx context.Context, l *Loaded, logs *nccl.Report) (*report.NCCLPart, error) {
	part := &report.NCCLPart{Files: logs.Files, Summary: logs.Summary(), Places: []report.PlaceRow{}, Findings: []report.NCCLFindingRow{}, Bandwidth: bandwidth(l.Run, logs.Benchmarks)}
	for _, f := range logs.Findings() {
		part.Findings = append(part.Findings, report.NCCLFindingRow{Code: f.Code, Message: f.Message, Severe: f.Severe})
	}
	var ran []*pyscan.File
	for _, path := range slices.Sorted(maps.Keys(l.Attribution.Files)) {
		ran = append(ran, l.Attribution.Files[path])
	}
	part.Places = append(part.Places, initCalls(ran)...)
	if len(part.Places) > 0 {
		return part, nil
	}
	// Nothing that ran in the trace sets the process group up, or there is no trace: look at the whole workspace.
	if err := w.Index(ctx, true); err != nil {
		return nil, err
	}
	if project := w.Project(); project != nil {
		part.Places = append(part.Places, initCalls(byPath(project.Files()))...)
	}
	return part, nil
}

// initNames are the functions that set NCCL up, the first best: torch.distributed's own, DeepSpeed's (deepspeed.init_distributed), and
// torch.distributed.device_mesh's, which makes the default group where there is none.
var initNames = []string{"init_process_group", "init_distributed", "init_device_mesh"}

// initCalls finds the calls that set the process group up.
func initCalls(files []*pyscan.File) []report.PlaceRow {
	found := map[string][]report.PlaceRow{}
	for _, file := range files {
		if !strings.Contains(file.Text, "init_") {
			continue
		}
		for _, stmt := range file.Module.Body {
			pyscan.Walk(stmt, func(node pyscan.Node) bool {
				call, ok := node.(*pyscan.Call)
				if !ok {
					return true
				}
				name := ""
				switch callee := call.Func.(type) {
				case *pyscan.Attribute:
					name = callee.Attr
				case *pyscan.Name:
					name = callee.ID
				}
				if slices.Contains(initNames, name) {
					found[name] = append(found[name], report.PlaceRow{File: file.Path, Line: file.LineOfStatement(file.Line(call.Span.Start))})
				}
				return true
			})
		}
	}
	for _, name := range initNames {
		if rows := found[name]; len(rows) > 0 {
			return rows[:min(maxInitCalls, len(rows))]
		}
	}
	return nil
}

// elementBytes are the sizes in bytes of the types by the names that torch gives them in a collective's metadata: the scalar types of
// c10/core/ScalarType.h, as its toString writes them.
var elementBytes = map[string]int64{
	"Float": 4, "Double": 8, "Half": 2, "BFloat16": 2, "Int": 4, "Long": 8, "Short": 2, "Byte": 1, "Char": 1, "Bool": 1,
	"Float8_e4m3fn": 1, "Float8_e5m2": 1, "ComplexFloat": 8, "ComplexDouble": 16,
}

// transfer is a collective of one size.
type transfer struct {
	name  string
	bytes int64
}

// bandwidth compares the trace's collectives with nccl-tests' tables. A collective's time is that of the rank that came last and
// waited least: the others' kernels hold their waiting too.
func bandwidth(run *traceindex.Run, measured []nccl.Benchmark) []report.BandwidthRow {
	rows := []report.BandwidthRow{}
	if len(measured) == 0 {
		return rows
	}
	busGBps := map[transfer][]float64{}
	add := func(ix *traceindex.Index, event traceindex.EventID, ns int64) {
		c, ok := ix.CollectiveOf(event)
		bytes := max(c.InElements, c.OutElements) * elementBytes[c.Type]
		if !ok || bytes <= 0 || ns <= 0 || c.GroupSize < 2 {
			return
		}
		k := transfer{c.Name, bytes}
		busGBps[k] = append(busGBps[k], float64(bytes)/float64(ns)*nccl.BusFactor(c.Name, int(c.GroupSize)))
	}
	joined, alone := run.Rendezvouses()
	for _, v := range joined {
		fastest := v.Parts[0]
		for _, p := range v.Parts {
			if run.Ranks[p.Rank].GPUDurNs(p.Event) < run.Ranks[fastest.Rank].GPUDurNs(fastest.Event) {
				fastest = p
			}
		}
		add(run.Ranks[fastest.Rank], fastest.Event, run.Ranks[fastest.Rank].GPUDurNs(fastest.Event))
	}
	for rank, events := range alone {
		for _, event := range events {
			add(run.Ranks[rank], event, run.Ranks[rank].GPUDurNs(event))
		}
	}
	for k, values := range busGBps {
		slices.Sort(values)
		row := report.BandwidthRow{Collective: k.name, Bytes: k.bytes, Count: len(values), TraceGBps: values[len(values)/2]}
		if b := benchmarkOf(measured, k.name); b != nil {
			row.MeasuredGBps, row.MeasuredBytes = b.BusGBpsAt(k.bytes)
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 { // no trace, or one without collectives: what was measured at best
		for i := range measured {
			gbps, bytes := measured[i].PeakBusGBps()
			rows = append(rows, report.BandwidthRow{Collective: cmp.Or(strings.TrimSuffix(measured[i].Name, "_perf"), "unnamed"), Bytes: bytes, MeasuredGBps: gbps, MeasuredBytes: bytes})
		}
	}
	slices.SortFunc(rows, func(a, b report.BandwidthRow) int {
		return cmp.Or(cmp.Compare(b.Bytes*int64(b.Count), a.Bytes*int64(a.Count)), cmp.Compare(a.Collective, b.Collective), cmp.Compare(b.Bytes, a.Bytes))
	})
	return rows
}

// benchmarkOf is the table of a collective; the only table there is, where it does not tell what it measured.
func benchmarkOf(measured []nccl.Benchmark, collective string) *nccl.Benchmark {
	want := collectiveKind(collective)
	for i := range measured {
		if want != "" && collectiveKind(measured[i].Name) == want {
			return &measured[i]
		}
	}
	if len(measured) == 1 && measured[0].Name == "" {
		return &measured[0]
	}
	return nil
}

// collectiveKind is a collective's name in one spelling: "allreduce" for "all_reduce_perf", "AllReduce", "allreduce_coalesced".
func collectiveKind(name string) string {
	plain := strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == ' ' {
			return -1
		}
		return r
	}, strings.ToLower(name))
	for _, kind := range []string{"allreduce", "allgather", "reducescatter", "alltoall", "broadcast", "sendrecv", "scatter", "gather", "reduce"} {
		if strings.Contains(plain, kind) {
			return kind
		}
	}
	return ""
}
