// Package dst007 holds the rule DST007 nccl-debug-exported: NCCL writes its debug log during training, or an NCCL variable is misspelled and does nothing.
package dst007

import (
	_ "embed"
	"fmt"
	"strings"

	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is DST007.
var Rule = &rules.Rule{
	ID:       "DST007",
	Name:     "nccl-debug-exported",
	Summary:  "NCCL writes its debug log during training, or an NCCL variable is misspelled and does nothing",
	Severity: rules.Warning,
	Fix:      rules.Unsafe,
	AnyFile:  true,
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	for _, s := range p.EnvironmentSettings() {
		f := rules.Finding{Span: s.NameSpan}
		level := strings.ToUpper(s.Value)
		known, near := nearest(s.Name)
		switch {
		case s.Name == "NCCL_DEBUG" && (level == "INFO" || level == "TRACE"):
			f.Message = fmt.Sprintf("`NCCL_DEBUG=%s` makes NCCL write a log line for every communicator and channel on every rank: leave it unset, or `WARN`, once the problem is found", s.Value)
			f.Fixes = append(p.DeleteSetting(s), rules.Fix{Title: "Log warnings only", Safety: rules.Unsafe, Edits: []rules.TextEdit{p.Tree.Replace(s.ValueNode, quoted(p.Text(s.ValueNode), "WARN"))}})
		case !known && near != "":
			f.Message = fmt.Sprintf("NCCL reads no variable `%s`, so this does nothing: the name is `%s`", s.Name, near)
			f.Fixes = []rules.Fix{{Title: "Rename to " + near, Safety: rules.Unsafe, Edits: []rules.TextEdit{{File: p.File, Span: s.NameSpan, New: s.NameQuote + near + s.NameQuote}}}}
		default:
			continue
		}
		p.Report(s.Site, f, rules.NotPeriodic)
	}
}

// quoted is a text in the quotes of a literal.
func quoted(literal, text string) string { return literal[:1] + text + literal[:1] }

// misspelled are names seen in launch scripts that NCCL does not read.
var misspelled = map[string]string{
	"NCCL_DEBUGINFO": "NCCL_DEBUG", "NCCL_DEBUG_INFO": "NCCL_DEBUG", "NCCL_DEBUG_LEVEL": "NCCL_DEBUG", "NCCL_LOG_LEVEL": "NCCL_DEBUG",
	"NCCL_TRACE_FILE": "NCCL_DEBUG_FILE", "NCCL_LOG_FILE": "NCCL_DEBUG_FILE", "NCCL_DEBUG_SUBSYSTEM": "NCCL_DEBUG_SUBSYS",
}

// nearest tells whether NCCL reads a variable, and which one a name it does not read was probably meant to be.
func nearest(name string) (known bool, near string) {
	if !strings.HasPrefix(name, "NCCL_") {
		return true, ""
	}
	for _, k := range variables {
		if k == name {
			return true, ""
		}
	}
	if near := misspelled[name]; near != "" {
		return false, near
	}
	for _, k := range variables {
		if transposedOrOneOff(name, k) {
			if near != "" {
				return false, "" // two candidates: no guess
			}
			near = k
		}
	}
	return false, near
}

// transposedOrOneOff: one letter more, less, other, or two neighbours swapped.
func transposedOrOneOff(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > 1 || len(a) < 8 {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if len(a) < len(b) {
		return a[i:] == b[i+1:] && b[i] != '_' // a new variable may be an old one with another part
	}
	if i == len(a) || isDigit(a[i]) || isDigit(b[i]) {
		return false
	}
	return a[i+1:] == b[i+1:] || i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// variables are the ones NCCL's user guide lists ("Environment Variables", NCCL 2.27), with those older releases read.
var variables = strings.Fields(`NCCL_SOCKET_IFNAME NCCL_SOCKET_FAMILY NCCL_SOCKET_RETRY_CNT NCCL_SOCKET_RETRY_SLEEP_MSEC NCCL_SOCKET_NTHREADS
NCCL_NSOCKS_PERTHREAD NCCL_CROSS_NIC NCCL_IB_HCA NCCL_IB_TIMEOUT NCCL_IB_RETRY_CNT NCCL_IB_GID_INDEX NCCL_IB_ADDR_FAMILY
NCCL_IB_ADDR_RANGE NCCL_IB_ROCE_VERSION_NUM NCCL_IB_SL NCCL_IB_TC NCCL_IB_FIFO_TC NCCL_IB_RETURN_ASYNC_EVENTS NCCL_OOB_NET_ENABLE
NCCL_OOB_NET_IFNAME NCCL_UID_STAGGER_THRESHOLD NCCL_UID_STAGGER_RATE NCCL_NET NCCL_NET_PLUGIN NCCL_TUNER_PLUGIN NCCL_PROFILER_PLUGIN
NCCL_ENV_PLUGIN NCCL_IGNORE_CPU_AFFINITY NCCL_CONF_FILE NCCL_DEBUG NCCL_DEBUG_FILE NCCL_DEBUG_SUBSYS NCCL_DEBUG_TIMESTAMP_FORMAT
NCCL_DEBUG_TIMESTAMP_LEVELS NCCL_COLLNET_ENABLE NCCL_COLLNET_NODE_THRESHOLD NCCL_CTA_POLICY NCCL_NETDEVS_POLICY NCCL_TOPO_FILE
NCCL_TOPO_DUMP_FILE NCCL_SET_THREAD_NAME NCCL_P2P_DISABLE NCCL_P2P_LEVEL NCCL_P2P_DIRECT_DISABLE NCCL_SHM_DISABLE NCCL_BUFFSIZE
NCCL_NTHREADS NCCL_MAX_NCHANNELS NCCL_MIN_NCHANNELS NCCL_CHECKS_DISABLE NCCL_CHECK_POINTERS NCCL_LAUNCH_MODE NCCL_IB_DISABLE
NCCL_IB_AR_THRESHOLD NCCL_IB_QPS_PER_CONNECTION NCCL_IB_SPLIT_DATA_ON_QPS NCCL_IB_CUDA_SUPPORT NCCL_IB_PCI_RELAXED_ORDERING
NCCL_IB_ADAPTIVE_ROUTING NCCL_IB_ECE_ENABLE NCCL_IB_MERGE_VFS NCCL_IB_MERGE_NICS NCCL_MEM_SYNC_DOMAIN NCCL_CUMEM_ENABLE
NCCL_CUMEM_HOST_ENABLE NCCL_NET_GDR_LEVEL NCCL_NET_GDR_READ NCCL_NET_GDR_C2C NCCL_NET_SHARED_BUFFERS NCCL_NET_SHARED_COMMS
NCCL_SINGLE_RING_THRESHOLD NCCL_LL_THRESHOLD NCCL_TREE_THRESHOLD NCCL_ALGO NCCL_PROTO NCCL_NVB_DISABLE NCCL_PXN_DISABLE
NCCL_PXN_C2C NCCL_P2P_PXN_LEVEL NCCL_RUNTIME_CONNECT NCCL_GRAPH_REGISTER NCCL_LOCAL_REGISTER NCCL_LEGACY_CUDA_REGISTER
NCCL_WIN_ENABLE NCCL_SET_STACK_SIZE NCCL_GRAPH_MIXING_SUPPORT NCCL_DMABUF_ENABLE NCCL_P2P_NET_CHUNKSIZE NCCL_P2P_LL_THRESHOLD
NCCL_ALLOC_P2P_NET_LL_BUFFERS NCCL_COMM_BLOCKING NCCL_CGA_CLUSTER_SIZE NCCL_MAX_CTAS NCCL_MIN_CTAS NCCL_NVLS_ENABLE
NCCL_NVLS_CHUNKSIZE NCCL_NVLS_NCHANNELS NCCL_NVLSTREE_MAX_CHUNKSIZE NCCL_MNNVL_ENABLE NCCL_MNNVL_UUID NCCL_MNNVL_CLIQUE_ID
NCCL_RAS_ENABLE NCCL_RAS_ADDR NCCL_RAS_TIMEOUT_FACTOR NCCL_LAUNCH_ORDER_IMPLICIT NCCL_LAUNCH_RACE_FATAL NCCL_IPC_USE_ABI
NCCL_ASYNC_ERROR_HANDLING NCCL_BLOCKING_WAIT NCCL_DESYNC_DEBUG NCCL_COMM_ID NCCL_HOSTID NCCL_RINGS NCCL_TRACE_BUFFER_SIZE
NCCL_NCHANNELS_PER_NET_PEER NCCL_NCHANNELS_PER_PEER NCCL_WORK_FIFO_DEPTH NCCL_PROGRESS_APPENDOP_FREQ NCCL_CREATE_THREAD_CONTEXT
NCCL_NET_DISABLE_INTRA NCCL_DISABLE_INTRA NCCL_GDRCOPY_ENABLE NCCL_NVLSTREE_ENABLE NCCL_SYM_CTAS NCCL_HOME NCCL_ROOT NCCL_LIB_DIR
NCCL_INCLUDE_DIR NCCL_VERSION NCCL_DIR NCCL_ROOT_DIR NCCL_LIBRARY_PATH NCCL_TIMEOUT NCCL_TESTS_DEVICE`)
