package nccl

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite golden files")

const caseLog = "../../testdata/cases/74-nccl-log/nccl.log"

func parseText(t *testing.T, text string) *Report {
	t.Helper()
	report, err := Parse(context.Background(), strings.NewReader(text), "test.log")
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestCase(t *testing.T) {
	report, err := Read(context.Background(), caseLog)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"2.22.3+cuda12.6"}, report.Versions); diff != "" {
		t.Error(diff)
	}
	if report.InfoRecords != 9 || report.WarnRecords != 1 {
		t.Errorf("%d INFO and %d WARN records", report.InfoRecords, report.WarnRecords)
	}
	if diff := cmp.Diff([]string{"node-a"}, report.Hosts()); diff != "" {
		t.Error(diff)
	}
	if len(report.Processes) != 2 || report.Processes[0].PID != "100" || report.Processes[1].PID != "101" {
		t.Fatalf("processes %+v", report.Processes)
	}
	if len(report.Comms) != 1 || report.Comms[0].ID != "0xabc" || report.Comms[0].Ranks != 2 {
		t.Fatalf("communicators %+v", report.Comms)
	}
	if diff := cmp.Diff(map[int]int{0: 0, 1: 1}, report.Comms[0].Members); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]int{"NET/Socket": 1}, report.Transports()); diff != "" {
		t.Error(diff)
	}
	wantFindings(t, report, map[string]string{
		"collective-mismatch": "rank 1 never joined AllGather of 512 float32 elements (opCount 1) of communicator 0xabc, which rank 0 called",
		"nccl-warning":        "rank 1 (node-a, pid 101) warns: NET/IB : Got completion from peer 10.0.0.2<4711> with error 12, opcode 1, len 0, vendor err 129 (error 12: the peer did not answer after all retries",
		"sockets-within-host": "ranks of one host (node-a) talk over TCP sockets",
	})
	if want := "NCCL 2.22.3+cuda12.6, 2 ranks on 1 host, NET/Socket (1 connection)"; report.Summary() != want {
		t.Errorf("summary %q", report.Summary())
	}
}

// wantFindings checks that exactly the findings with these codes come, with texts that begin like these.
func wantFindings(t *testing.T, report *Report, want map[string]string) {
	t.Helper()
	for _, finding := range report.Findings() {
		start, ok := want[finding.Code]
		if !ok {
			t.Errorf("unexpected finding %s: %s", finding.Code, finding.Message)
			continue
		}
		delete(want, finding.Code)
		if !strings.HasPrefix(finding.Message, start) {
			t.Errorf("finding %s: %q, want it to begin %q", finding.Code, finding.Message, start)
		}
	}
	for code := range want {
		t.Errorf("no finding %s", code)
	}
}

// TestRecorded pins what is read from the logs of the two ranks of traces/ddp.
func TestRecorded(t *testing.T) {
	report, err := Read(context.Background(), "testdata/rank0.log", "testdata/rank1.log")
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n%d INFO, %d WARN\n", report.Summary(), report.InfoRecords, report.WarnRecords)
	for _, process := range report.Processes {
		fmt.Fprintf(&text, "rank %d of %d %s:%s version %s network %s IB %v noIB %v GDR disabled %v channels %d/%d P2P refused %d env %v\n", process.Rank, process.Ranks, process.Host, process.PID,
			process.Version, process.Network, process.IBDevices, process.NoIB, process.GDRDisabled, process.CollChannels, process.P2PChannels, process.P2PRefused, process.Env)
		for _, connection := range process.Connections {
			fmt.Fprintf(&text, "  %d -> %d %s (%s) × %d\n", connection.From, connection.To, connection.Transport, connection.Via, connection.Channels)
		}
	}
	for _, comm := range report.Comms {
		fmt.Fprintf(&text, "comm %s of %d: %v, unfinished %v\n", comm.ID, comm.Ranks, comm.Members, comm.Unfinished)
	}
	for _, finding := range report.Findings() {
		fmt.Fprintf(&text, "%s: %s\n", finding.Code, finding.Message)
	}
	const golden = "testdata/recorded.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text.String()); diff != "" {
		t.Error(diff)
	}
}

func TestFindings(t *testing.T) {
	const initDone = "h:1:1 [0] NCCL INFO ncclCommInitRank comm 0x1 rank 0 nranks 2 cudaDev 0 busId 1 commId 0x9 - Init COMPLETE\n" +
		"g:2:2 [0] NCCL INFO ncclCommInitRank comm 0x2 rank 1 nranks 2 cudaDev 0 busId 1 commId 0x9 - Init COMPLETE\n"
	tests := []struct {
		name, log string
		want      map[string]string
	}{
		{"RDMA, nothing wrong", "h:1:1 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/IB [RO]; OOB eth0:10.0.0.1<0>\nh:1:1 [0] NCCL INFO Using network IB\n" +
			initDone + "h:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IBext_v8/0/GDRDMA\n", nil},
		{"sockets despite InfiniBand", "h:1:1 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB eth0:10.0.0.1<0>\nh:1:1 [0] NCCL INFO NCCL_NET set by environment to Socket.\n" +
			initDone + "h:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/Socket/0\n",
			map[string]string{"sockets-despite-infiniband": "NCCL talks over TCP sockets (NET/Socket) on h although it found InfiniBand or RoCE adapters (mlx5_0:1/RoCE); set in the environment: NCCL_NET=Socket."}},
		{"InfiniBand switched off", "h:1:1 [0] NCCL INFO NCCL_IB_DISABLE set by environment to 1.\nh:1:1 [0] NCCL INFO Using network Socket\n",
			map[string]string{"sockets-despite-infiniband": "NCCL talks over TCP sockets (NET/Socket) on h, InfiniBand is switched off; set in the environment: NCCL_IB_DISABLE=1."}},
		{"no InfiniBand there", "h:1:1 [0] NCCL INFO NET/IB : No device found.\nh:1:1 [0] NCCL INFO NET/IB : Using [RO]; OOB eth0:10.0.0.1<0>\n" + initDone +
			"h:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/Socket/0\n",
			map[string]string{"sockets-between-hosts": "ranks on h talk to others over TCP sockets"}},
		{"Socket is the plugin, but nothing uses it", "h:1:1 [0] NCCL INFO NET/IB : No device found.\nh:1:1 [0] NCCL INFO Using network Socket\nh:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n", nil},
		{"P2P disabled", "h:1:1 [0] NCCL INFO NCCL_P2P_DISABLE set by environment to 1\nh:1:1 [0] NCCL INFO Channel 00 : 0[0] -> 1[1] via SHM/direct/direct\n",
			map[string]string{"p2p-disabled": "P2P between GPUs is disabled on h (NCCL_P2P_DISABLE or NCCL_P2P_LEVEL is set); channels through host memory (SHM) instead: 1"}},
		{"P2P refused", "h:1:1 [1] NCCL INFO Could not enable P2P between dev 1(=81000) and dev 0(=41000)\nh:1:1 [1] NCCL INFO Channel 00 : 1[81000] -> 0[41000] via SHM/direct/direct\n",
			map[string]string{"p2p-refused": "the driver could not enable P2P between GPUs on h"}},
		{"versions", "h:1:1 [0] NCCL INFO NCCL version 2.26.2+cuda12.8\nNCCL version 2.22.3+cuda12.6\n",
			map[string]string{"versions-differ": "different NCCL versions between ranks: 2.26.2+cuda12.8 on h, pid 1; 2.22.3+cuda12.6."}},
		{"without GPUDirect", "h:1:1 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:10.0.0.1<0>\nh:1:1 [0] NCCL INFO NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'\n" +
			"h:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0\n",
			map[string]string{"gpudirect-off": "1 of 1 InfiniBand channels go without GPUDirect RDMA, through host memory (disabled for mlx5_0)"}},
		{"hang in init", "h:1:1 [0] NCCL INFO ncclCommInitRank comm 0x1 rank 0 nranks 3 cudaDev 0 nvmlDev 0 busId 1 commId 0x9 - Init START\n",
			map[string]string{"init-unfinished": "the communicator 0x9 of 3 ranks did not finish initialising on rank 0; these logs do not show rank 1, 2 joining"}},
		{"other collective", initDone + "h:1:1 [0] NCCL INFO AllReduce: opCount 0 sendbuff 0x1 recvbuff 0x1 count 4 datatype 7 op 0 root 0 comm 0x1 [nranks=2] stream 0x5\n" +
			"g:2:2 [0] NCCL INFO AllReduce: opCount 0 sendbuff 0x1 recvbuff 0x1 count 5 datatype 9 op 0 root 0 comm 0x2 [nranks=2] stream 0x5\n",
			map[string]string{"collective-mismatch": "the ranks of communicator 0x9 call different collectives: rank 0 AllReduce of 4 float32 elements (its collective number 0), rank 1 AllReduce of 5 bfloat16 elements"}},
		{"one rank's log only", initDone[:strings.Index(initDone, "\n")+1] + "h:1:1 [0] NCCL INFO AllReduce: opCount 0 sendbuff 0x1 recvbuff 0x1 count 4 datatype 7 op 0 root 0 comm 0x1 [nranks=2] stream 0x5\n", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			wantFindings(t, parseText(t, test.log), test.want)
		})
	}
}

func TestRecords(t *testing.T) {
	tests := []struct {
		line      string
		host, pid string
		warn      bool
		text      string
	}{
		{"node-a:100:140 [0] NCCL INFO Bootstrap : Using eth0", "node-a", "100", false, "Bootstrap : Using eth0"},
		{"[1,0]<stdout>:test-worker-0:21:27 [0] NCCL INFO Connected all rings", "test-worker-0", "21", false, "Connected all rings"},
		{"3: gpu7.cluster.local:9:9 [3] NCCL INFO x", "gpu7.cluster.local", "9", false, "x"},
		{"[rank2]: h_1:9:9 [2] NCCL INFO x", "h_1", "9", false, "x"},
		{"[2026-01-02 03:04:05] h:9:9 [2] proxy.cc:5 NCCL WARN gone", "h", "9", true, "gone"},
		{"\x1b[33mh:9:9 [2] NCCL INFO x\x1b[0m", "h", "9", false, "x"},
		{"h:9:9 [-1] NCCL INFO x", "h", "9", false, "x"},
		{"NCCL INFO is set", "", "", false, ""},
		{"use NCCL_DEBUG=INFO", "", "", false, ""},
	}
	for _, test := range tests {
		r, ok := parseRecord(test.line)
		if ok != (test.host != "") || r.host != test.host || r.pid != test.pid || r.warn != test.warn || r.text != test.text {
			t.Errorf("%q: %+v", test.line, r)
		}
		if ok && !r.clean {
			t.Errorf("%q: the prefix is taken for text", test.line)
		}
	}
}

// TestGluedHost: where the first record of a process follows text, later ones show where its host's name begins.
func TestGluedHost(t *testing.T) {
	report := parseText(t, "loss 2.1node-a:7:7 [0] NCCL INFO Using network IB\nnode-a:7:7 [0] NCCL INFO 8 coll channels, 8 collnet channels, 0 nvls channels, 8 p2p channels, 2 p2p channels per peer\n")
	if len(report.Processes) != 1 || report.Processes[0].Host != "node-a" || report.Processes[0].Network != "IB" || report.Processes[0].CollChannels != 8 || report.Processes[0].P2PChannels != 8 {
		t.Errorf("processes %+v", report.Processes)
	}
}

func TestChoices(t *testing.T) {
	report := parseText(t, strings.Repeat("h:1:1 [0] NCCL INFO AllReduce: 8388608 Bytes -> Algo Ring proto LL128 channel{Lo..Hi}={0..15}\n", 2)+
		"h:1:1 [0] NCCL INFO AllGather: 4096 Bytes -> Algo 1 proto 2 time 2860.208008\n")
	want := []Choice{{"AllReduce", "RING", "LL128", 2, 8388608}, {"AllGather", "RING", "SIMPLE", 1, 4096}}
	if diff := cmp.Diff(want, report.Processes[0].Choices); diff != "" {
		t.Error(diff)
	}
}

const table = `# nThread 1 nGpus 1 minBytes 1048576 maxBytes 4194304 step: 4(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0
#
# Using devices
#  Rank  0 Group  0 Pid    855 on node device  0 [0xa4] NVIDIA A100-SXM4-80GB
#  Rank  1 Group  0 Pid    856 on node device  1 [0xa9] NVIDIA A100-SXM4-80GB
node:855:866 [0] NCCL INFO Using network IB
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
     1048576        262144     float     sum      -1    50.00   20.97   20.97      0    49.00   21.40   21.40      0
     4194304       1048576     float     sum      -1   100.00   41.94   41.94      0   101.00   41.53   41.53    N/A
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 31.46
#
# Collective test concluded: all_reduce_perf
`

func TestBenchmark(t *testing.T) {
	for _, prefix := range []string{"", "[1,0]<stdout>:"} {
		report := parseText(t, prefix+strings.ReplaceAll(strings.TrimSpace(table), "\n", "\n"+prefix))
		want := []Benchmark{{File: "test.log", Name: "all_reduce_perf", Ranks: 2, GPU: "NVIDIA A100-SXM4-80GB", AverageBusGBps: 31.46, Rows: []BenchmarkRow{
			{1048576, 262144, "float", Measurement{50, 20.97, 20.97}, Measurement{49, 21.4, 21.4}},
			{4194304, 1048576, "float", Measurement{100, 41.94, 41.94}, Measurement{101, 41.53, 41.53}},
		}}}
		if diff := cmp.Diff(want, report.Benchmarks); diff != "" {
			t.Error(diff)
		}
		b := report.Benchmarks[0]
		if gbps, bytes := b.PeakBusGBps(); gbps != 41.94 || bytes != 4194304 {
			t.Errorf("peak %v at %d", gbps, bytes)
		}
		if gbps, bytes := b.BusGBpsAt(2 << 20); gbps != 21.4 || bytes != 1048576 {
			t.Errorf("at 2 MiB %v of %d", gbps, bytes)
		}
	}
	if !Sniff([]byte(table)) {
		t.Error("Sniff refuses nccl-tests output")
	}
}

func TestBusFactor(t *testing.T) {
	for name, want := range map[string]float64{"AllReduce": 1.75, "all_gather_perf": 0.875, "ncclDevKernel_ReduceScatter_Sum_f32_RING_LL": 0.875, "broadcast": 1, "alltoall_perf": 0.875} {
		if got := BusFactor(name, 8); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

func TestErrors(t *testing.T) {
	_, err := Parse(context.Background(), strings.NewReader("epoch 1\nloss 0.5\n"), "train.log")
	if err == nil || err.Error() != "nccl: train.log: no NCCL record in it; run with NCCL_DEBUG=INFO" {
		t.Errorf("error %v", err)
	}
	if _, err := Read(context.Background(), "testdata/absent.log"); err == nil || !strings.Contains(err.Error(), "absent.log") {
		t.Errorf("error %v", err)
	}
	if Sniff([]byte("epoch 1\n")) {
		t.Error("Sniff takes any text")
	}
}

func FuzzParse(f *testing.F) {
	data, err := os.ReadFile(caseLog)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(table))
	f.Fuzz(func(t *testing.T, data []byte) {
		report, err := Parse(context.Background(), bytes.NewReader(data), "fuzz.log")
		if err != nil {
			return
		}
		report.Findings()
		report.Summary()
		for _, b := range report.Benchmarks {
			b.PeakBusGBps()
		}
	})
}
