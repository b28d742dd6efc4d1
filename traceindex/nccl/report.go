package nccl

import (
	"cmp"
	"slices"
	"strings"

	"stepline/traceindex"
)

// Report is what one or more logs say. It is immutable once read.
type Report struct {
	Files     []string
	Processes []Process // sorted by rank, host and pid
	Comms     []Comm    // sorted by first appearance
	// Versions are the distinct versions, with prefix or without, in order of appearance: "2.22.3+cuda12.6".
	Versions   []string
	Benchmarks []Benchmark // tables of nccl-tests
	// InfoRecords and WarnRecords count the records read; version lines without a prefix are in neither.
	InfoRecords, WarnRecords int
	Warnings                 []traceindex.Warning // about the input, not about NCCL

	collectives map[string]map[int]*history // commId → rank → what it called; until mismatches has compared them
	mismatch    []Finding
}

// Process is one process of the job.
type Process struct {
	Host string
	PID  string
	// Rank and Ranks are of the largest communicator the process is in, −1 and 0 if the log does not tell.
	Rank, Ranks int
	// Version is the process' own, "" if only an unprefixed line tells it.
	Version string
	// Network is the plugin for traffic between nodes ("Using network IB"), "" if not told.
	Network string
	// IBDevices are the adapters found, as NCCL writes them: "mlx5_0:1/RoCE".
	IBDevices []string
	// NoIB tells that NCCL looked for InfiniBand and found no device.
	NoIB bool
	// GDRDisabled are the adapters for which GPUDirect RDMA is off.
	GDRDisabled []string
	Connections []Connection
	// CollChannels and P2PChannels are the last "N coll channels, … M p2p channels", −1 if not told.
	CollChannels, P2PChannels int
	// Choices are algorithm and protocol per collective (NCCL_DEBUG_SUBSYS=TUNING), most frequent first.
	Choices []Choice
	// Env are NCCL_… variables the process found set.
	Env      map[string]string
	Messages []Message // NCCL WARN, equal ones counted
	// P2PRefused counts "Could not enable P2P".
	P2PRefused int
}

// Connection is a set of equal channels between two ranks.
type Connection struct {
	From, To int
	// Transport is "P2P", "SHM", "NET/IB", "NET/Socket" or "NET/" and the plugin's name; Via is the whole text, "P2P/CUMEM".
	Transport, Via string
	GDR            bool // GPUDirect RDMA
	Channels       int
}

// Choice is one algorithm NCCL chose.
type Choice struct {
	Collective, Algorithm, Protocol string
	Count                           int
	MaxBytes                        int64
}

// Message is one NCCL WARN.
type Message struct {
	Text, Source string // Source is NCCL's file:line
	Count        int
	File         string
	Line         int // of the log
}

// Comm is one communicator.
type Comm struct {
	ID    string // commId, or the pointer where the version prints no commId
	Ranks int
	// Members are rank → row of Processes.
	Members map[int]int
	// Unfinished are the ranks that logged the start of its initialisation and not the end.
	Unfinished []int
}

// Transports counts channels by transport over all processes.
func (r *Report) Transports() map[string]int {
	counts := map[string]int{}
	for _, process := range r.Processes {
		for _, connection := range process.Connections {
			counts[connection.Transport] += connection.Channels
		}
	}
	return counts
}

// Hosts are the distinct hosts, sorted.
func (r *Report) Hosts() []string {
	var hosts []string
	for _, process := range r.Processes {
		hosts = append(hosts, process.Host)
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

// Summary says in one line what the log shows, for the line of init_process_group: "NCCL 2.28.9+cuda13.0, 2 ranks on 1 host,
// P2P (96 connections), 24 channels for collectives". "" for a report without processes.
func (r *Report) Summary() string {
	if len(r.Processes) == 0 {
		return ""
	}
	var parts []string
	if len(r.Versions) > 0 {
		parts = append(parts, "NCCL "+strings.Join(r.Versions, " and "))
	}
	ranks := 0
	for _, process := range r.Processes {
		ranks = max(ranks, process.Ranks)
	}
	hosts := countOf(len(r.Hosts()), "host")
	if ranks > 0 {
		parts = append(parts, countOf(ranks, "rank")+" on "+hosts)
	} else {
		parts = append(parts, countOf(len(r.Processes), "process")+" on "+hosts)
	}
	type transport struct {
		name  string
		count int
	}
	var transports []transport
	counts := map[string]int{}
	for _, process := range r.Processes {
		for _, connection := range process.Connections {
			counts[connection.Transport] += connection.Channels
		}
	}
	for name, count := range counts {
		transports = append(transports, transport{name, count})
	}
	slices.SortFunc(transports, func(a, b transport) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.name, b.name))
	})
	for _, t := range transports {
		parts = append(parts, t.name+" ("+countOf(t.count, "connection")+")")
	}
	if len(transports) == 0 && r.Processes[0].Network != "" {
		parts = append(parts, "network "+r.Processes[0].Network)
	}
	if n := r.Processes[0].CollChannels; n >= 0 {
		parts = append(parts, countOf(n, "channel")+" for collectives")
	}
	return strings.Join(parts, ", ")
}
