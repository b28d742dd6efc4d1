package nccl

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Finding is something in the logs that costs time or will hang the job. Message is plain and complete: what is the case and
// what to do.
type Finding struct {
	// Code is stable, kebab-case: "sockets-despite-infiniband", "sockets-within-host", "sockets-between-hosts", "p2p-disabled",
	// "p2p-refused", "gpudirect-off", "versions-differ", "collective-mismatch", "init-unfinished", "nccl-warning".
	Code    string
	Message string
	// Severe tells errors and certain losses from remarks.
	Severe bool
}

// Findings says what is wrong, worst first.
func (r *Report) Findings() []Finding {
	var found []Finding
	found = append(found, r.mismatch...)
	found = append(found, r.unfinished()...)
	found = append(found, r.warnings()...)
	found = append(found, r.versions()...)
	found = append(found, r.sockets()...)
	found = append(found, r.peerToPeer()...)
	found = append(found, r.gpuDirect()...)
	slices.SortStableFunc(found, func(a, b Finding) int {
		return cmp.Compare(boolRank(b.Severe), boolRank(a.Severe))
	})
	return found
}

func boolRank(severe bool) int {
	if severe {
		return 1
	}
	return 0
}

// sockets finds connections that go over TCP.
func (r *Report) sockets() []Finding {
	adapters := map[string][]string{} // host → InfiniBand adapters found
	for _, process := range r.Processes {
		adapters[process.Host] = append(adapters[process.Host], process.IBDevices...)
	}
	despite := map[string]string{} // host → adapters
	reasons := map[string]bool{}
	within, between := map[string]bool{}, map[string]bool{}
	for i := range r.Processes {
		process := &r.Processes[i]
		connected := false
		for _, connection := range process.Connections {
			if connection.Transport != "NET/Socket" {
				continue
			}
			connected = true
			if from, to := r.hostOf(process, connection.From), r.hostOf(process, connection.To); from != "" && from == to {
				within[from] = true
			} else {
				between[process.Host] = true
			}
		}
		onSockets := connected || process.Network == "Socket" && len(process.Connections) == 0
		found := slices.Compact(slices.Sorted(slices.Values(adapters[process.Host])))
		if onSockets && (len(found) > 0 || process.Env["NCCL_IB_DISABLE"] == "1") {
			despite[process.Host] = strings.Join(found, ", ")
			for _, name := range []string{"NCCL_IB_DISABLE", "NCCL_NET", "NCCL_IB_HCA", "NCCL_NET_PLUGIN"} {
				if value, set := process.Env[name]; set {
					reasons[name+"="+value] = true
				}
			}
		}
	}
	var found []Finding
	if len(despite) > 0 {
		message := "NCCL talks over TCP sockets (NET/Socket) on " + joinKeys(despite)
		if devices := strings.Trim(strings.Join(slices.Compact(slices.Sorted(maps.Values(despite))), ", "), ", "); devices != "" {
			message += " although it found InfiniBand or RoCE adapters (" + devices + ")"
		} else {
			message += ", InfiniBand is switched off"
		}
		if len(reasons) > 0 {
			message += "; set in the environment: " + strings.Join(slices.Sorted(maps.Keys(reasons)), ", ")
		}
		found = append(found, Finding{"sockets-despite-infiniband", message + ". Remove what switches it off; with RDMA the log says `via NET/IB`", true})
	}
	if len(within) > 0 {
		found = append(found, Finding{"sockets-within-host", "ranks of one host (" + joinKeys(within) +
			") talk over TCP sockets: neither P2P nor shared memory was possible between them. Look for NCCL_P2P_DISABLE, NCCL_SHM_DISABLE, and for containers that do not share /dev/shm and the PID namespace", true})
	}
	if len(between) > 0 && len(despite) == 0 {
		found = append(found, Finding{"sockets-between-hosts", "ranks on " + joinKeys(between) +
			" talk to others over TCP sockets (NET/Socket); NCCL found no InfiniBand or RoCE adapter there", false})
	}
	return found
}

// hostOf is the host of a rank as numbered in a process' communicator; "" if the logs do not hold that rank. Connections are
// numbered within their communicator, which the log does not name: only ranks that are on the same host in every communicator
// of that process are told.
func (r *Report) hostOf(process *Process, rank int) string {
	host := ""
	for _, comm := range r.Comms {
		if !r.isMember(comm, process) {
			continue
		}
		row, ok := comm.Members[rank]
		if !ok {
			continue
		}
		if there := r.Processes[row].Host; host == "" {
			host = there
		} else if host != there {
			return ""
		}
	}
	return host
}

func (r *Report) isMember(comm Comm, process *Process) bool {
	for _, row := range comm.Members {
		if &r.Processes[row] == process {
			return true
		}
	}
	return false
}

// peerToPeer finds GPUs of one host that do not talk directly.
func (r *Report) peerToPeer() []Finding {
	var found []Finding
	disabled, refused, shared := map[string]bool{}, map[string]bool{}, 0
	for _, process := range r.Processes {
		if value, set := process.Env["NCCL_P2P_DISABLE"]; set && value != "0" {
			disabled[process.Host] = true
		}
		if level := process.Env["NCCL_P2P_LEVEL"]; level == "LOC" || level == "0" {
			disabled[process.Host] = true
		}
		if process.P2PRefused > 0 {
			refused[process.Host] = true
		}
		for _, connection := range process.Connections {
			if connection.Transport == "SHM" {
				shared += connection.Channels
			}
		}
	}
	through := ""
	if shared > 0 {
		through = fmt.Sprintf("; channels through host memory (SHM) instead: %d", shared)
	}
	switch {
	case len(disabled) > 0:
		found = append(found, Finding{"p2p-disabled", "P2P between GPUs is disabled on " + joinKeys(disabled) +
			" (NCCL_P2P_DISABLE or NCCL_P2P_LEVEL is set)" + through + ". Unset it unless the machine hangs without", true})
	case len(refused) > 0:
		found = append(found, Finding{"p2p-refused", "the driver could not enable P2P between GPUs on " + joinKeys(refused) + through +
			". Consumer GPUs lack it; on servers check PCI access control (ACS) and the IOMMU", false})
	case shared > 0:
		found = append(found, Finding{"p2p-refused", fmt.Sprintf("channels between GPUs of one host that go through host memory (SHM), not P2P: %d. `nvidia-smi topo -p2p r` shows whether these GPUs can do it", shared), false})
	}
	return found
}

// gpuDirect finds RDMA that copies through host memory.
func (r *Report) gpuDirect() []Finding {
	direct, staged := 0, 0
	disabled := map[string]bool{}
	for _, process := range r.Processes {
		for _, connection := range process.Connections {
			if connection.Transport == "NET/IB" {
				if connection.GDR {
					direct += connection.Channels
				} else {
					staged += connection.Channels
				}
			}
		}
		for _, device := range process.GDRDisabled {
			if slices.ContainsFunc(process.IBDevices, func(d string) bool { return strings.HasPrefix(d, device+":") }) {
				disabled[device] = true
			}
		}
	}
	if staged == 0 {
		return nil
	}
	message := fmt.Sprintf("%d of %d InfiniBand channels go without GPUDirect RDMA, through host memory", staged, staged+direct)
	if len(disabled) > 0 {
		message += " (disabled for " + joinKeys(disabled) + ")"
	}
	return []Finding{{"gpudirect-off", message + ". Check that nvidia-peermem is loaded or dma-buf is supported, and NCCL_NET_GDR_LEVEL", false}}
}

func (r *Report) versions() []Finding {
	if len(r.Versions) < 2 {
		return nil
	}
	where := map[string][]string{}
	for _, process := range r.Processes {
		if process.Version != "" {
			where[process.Version] = append(where[process.Version], r.name(process))
		}
	}
	var parts []string
	for _, version := range r.Versions {
		part := version
		if names := where[version]; len(names) > 0 {
			part += " on " + few(names)
		}
		parts = append(parts, part)
	}
	return []Finding{{"versions-differ", "different NCCL versions between ranks: " + strings.Join(parts, "; ") +
		". Install the same PyTorch or NCCL everywhere", true}}
}

// wcStatus names the ibv_wc_status numbers that people meet (rdma-core, libibverbs/verbs.h).
var wcStatus = map[string]string{
	"4": "local protection error", "5": "flushed: the connection had failed before", "9": "the remote side refused the request",
	"10": "remote access error", "11": "remote operation error",
	"12": "the peer did not answer after all retries: its process died, or the link or switch between is down",
	"13": "the peer was not ready to receive after all retries",
}

func (r *Report) warnings() []Finding {
	var found []Finding
	for _, process := range r.Processes {
		for _, message := range process.Messages {
			text := message.Text
			if _, rest, ok := strings.Cut(text, "with error "); ok {
				number := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
				if meaning := wcStatus[number]; meaning != "" && strings.Contains(text, "NET/IB") {
					text += " (error " + number + ": " + meaning + ")"
				}
			}
			if message.Count > 1 {
				text += fmt.Sprintf(" (%d times)", message.Count)
			}
			found = append(found, Finding{"nccl-warning", r.name(process) + " warns: " + text, true})
		}
	}
	return found
}

func (r *Report) unfinished() []Finding {
	var found []Finding
	for _, comm := range r.Comms {
		if len(comm.Unfinished) == 0 {
			continue
		}
		var absent []string
		for rank := 0; rank < comm.Ranks && len(absent) < 10; rank++ {
			if _, ok := comm.Members[rank]; !ok {
				absent = append(absent, strconv.Itoa(rank))
			}
		}
		message := fmt.Sprintf("the communicator %s of %d ranks did not finish initialising on rank %s", comm.ID, comm.Ranks, few(numbers(comm.Unfinished)))
		if len(absent) > 0 {
			message += "; these logs do not show rank " + few(absent) + " joining"
		}
		found = append(found, Finding{"init-unfinished", message, true})
	}
	return found
}

// mismatches compares what the ranks of each communicator called.
func (r *Report) mismatches(texts []string) {
	ids := slices.Sorted(maps.Keys(r.collectives))
	for _, id := range ids {
		ranks := r.collectives[id]
		if len(ranks) < 2 {
			continue
		}
		if finding, ok := r.compare(id, ranks, texts); ok {
			r.mismatch = append(r.mismatch, finding)
		}
	}
	r.collectives = nil
}

// compare finds the first collective of a communicator that not all its logged ranks called.
func (r *Report) compare(id string, ranks map[int]*history, texts []string) (Finding, bool) {
	order := slices.Sorted(maps.Keys(ranks))
	longest := order[0]
	for _, rank := range order {
		if len(ranks[rank].calls) > len(ranks[longest].calls) {
			longest = rank
		}
	}
	if sameSets(ranks) {
		return Finding{}, false // the same calls, logged in another order by several threads
	}
	counted := slices.ContainsFunc(ranks[longest].calls, func(c call) bool { return c.opCount != 0 })
	for position, want := range ranks[longest].calls {
		name := texts[want.text]
		if counted {
			name += fmt.Sprintf(" (opCount %d)", want.opCount)
		} else {
			name += fmt.Sprintf(" (its collective number %d)", position)
		}
		var absent []string
		for _, rank := range order {
			calls := ranks[rank].calls
			if position >= len(calls) {
				absent = append(absent, strconv.Itoa(rank))
				continue
			}
			if calls[position].signature != want.signature {
				return Finding{"collective-mismatch", fmt.Sprintf("the ranks of communicator %s call different collectives: rank %d %s, rank %d %s. All ranks must call the same in the same order, or they hang",
					id, longest, name, rank, texts[calls[position].text]), true}, true
			}
		}
		if len(absent) > 0 {
			var present []string
			for _, rank := range order {
				if position < len(ranks[rank].calls) {
					present = append(present, strconv.Itoa(rank))
				}
			}
			return Finding{"collective-mismatch", fmt.Sprintf("rank %s never joined %s of communicator %s, which rank %s called and waits in, unless the log was cut before",
				few(absent), name, id, few(present)), true}, true
		}
	}
	return Finding{}, false
}

// sameSets reports whether all ranks called the same collectives, in whatever order.
func sameSets(ranks map[int]*history) bool {
	var first map[uint64]int
	for _, history := range ranks {
		counts := map[uint64]int{}
		for _, call := range history.calls {
			counts[call.signature]++
		}
		if first == nil {
			first = counts
		} else if !maps.Equal(first, counts) {
			return false
		}
	}
	return true
}

func (r *Report) name(process Process) string {
	if process.Rank >= 0 {
		return fmt.Sprintf("rank %d (%s, pid %s)", process.Rank, process.Host, process.PID)
	}
	return fmt.Sprintf("%s, pid %s", process.Host, process.PID)
}

func joinKeys[V any](set map[string]V) string { return few(slices.Sorted(maps.Keys(set))) }

// few lists names, the first eight of many.
func few(names []string) string {
	if len(names) > 8 {
		return strings.Join(names[:8], ", ") + fmt.Sprintf(" and %d more", len(names)-8)
	}
	return strings.Join(names, ", ")
}

func numbers(list []int) []string {
	var names []string
	for _, n := range slices.Sorted(slices.Values(list)) {
		names = append(names, strconv.Itoa(n))
	}
	return names
}

func countOf(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if strings.HasSuffix(noun, "ss") {
		return fmt.Sprintf("%d %ses", n, noun)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
