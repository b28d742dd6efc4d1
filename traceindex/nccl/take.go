package nccl

import (
	"fmt"
	"hash/maphash"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"stepline/traceindex"
)

var (
	prefixedVersion = regexp.MustCompile(`^(?:NCCL|RCCL) version ?:? ?(\d\S*)`)
	usingNetwork    = regexp.MustCompile(`^Using network (.+)`)
	ibUsing         = regexp.MustCompile(`^NET/IB\S* ?: ?Using (.*)`)
	ibDevice        = regexp.MustCompile(`\[\d+\]([A-Za-z0-9_.-]+:\d+/[A-Za-z]+)`)
	gdrDisabled     = regexp.MustCompile(`GPU Direct RDMA Disabled for HCA \d+ '([^']+)'`)
	via             = regexp.MustCompile(`^(?:Channel|Ring|Tree|CollNet) \S+ : (\d+)(?:\[[^\]]*\])? -> (\d+)(?:\[[^\]]*\])? (?:\[(?:send|receive)\] )?via (.+?)(?: comm 0x.*)?$`)
	channels        = regexp.MustCompile(`^(\d+) coll channels,.*?(\d+) p2p channels(?:,|$)`)
	commLine        = regexp.MustCompile(`comm (0x[0-9a-fA-F]+) rank (\d+) n[rR]anks (\d+)`)
	commID          = regexp.MustCompile(`commId (0x[0-9a-fA-F]+)`)
	envSet          = regexp.MustCompile(`^(NCCL_[A-Z0-9_]+) set (?:by environment )?to (.+?)\.?$`)
	chosen          = regexp.MustCompile(`^(?:(\w+): )?(\d+) Bytes -> Algo (\w+) proto (\w+)`)
	collective      = regexp.MustCompile(`^(\w+): opCount ([0-9a-fA-F]+) sendbuff \S+ recvbuff \S+ count (\d+) datatype (\d+) op (\d+) root (-?\d+) comm (0x[0-9a-fA-F]+)`)
)

// The names behind the numbers of NCCL_DEBUG_SUBSYS=TUNING before 2.24 (NCCL_ALGO_…, NCCL_PROTO_… in its source).
var (
	algorithms = []string{"TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT"}
	protocols  = []string{"LL", "LL128", "SIMPLE"}
)

// take puts one record into its process.
func (p *parser) take(process *processState, r record) {
	if r.warn {
		process.warn(r)
		return
	}
	text := r.text
	switch {
	case strings.HasPrefix(text, "Channel "), strings.HasPrefix(text, "Ring "), strings.HasPrefix(text, "Tree "), strings.HasPrefix(text, "CollNet "):
		process.connection(text)
	case strings.Contains(text, ": opCount "):
		p.collective(process, text)
	case strings.Contains(text, " Bytes -> Algo "):
		process.choice(text)
	case strings.Contains(text, "comm 0x") && commLine.MatchString(text):
		process.comm(text)
	case strings.HasPrefix(text, "NCCL_"):
		if match := envSet.FindStringSubmatch(text); match != nil {
			process.Env[match[1]] = match[2]
		}
	case strings.HasPrefix(text, "NET/IB"):
		process.infiniband(text)
	case strings.HasPrefix(text, "Could not enable P2P"):
		process.P2PRefused++
	case strings.HasPrefix(text, "Using network "):
		if match := usingNetwork.FindStringSubmatch(text); match != nil {
			process.Network = match[1]
		}
	default:
		if match := prefixedVersion.FindStringSubmatch(text); match != nil {
			process.Version = match[1]
			p.version(match[1])
		} else if match := channels.FindStringSubmatch(text); match != nil {
			process.CollChannels, process.P2PChannels = atoi(match[1]), atoi(match[2])
		}
	}
}

func (p *parser) version(version string) {
	if !slices.Contains(p.report.Versions, version) {
		p.report.Versions = append(p.report.Versions, version)
	}
}

func (s *processState) warn(r record) {
	if row, ok := s.messages[r.text]; ok {
		s.Messages[row].Count++
		return
	}
	if len(s.messages) >= 1000 {
		return
	}
	s.messages[r.text] = len(s.Messages)
	s.Messages = append(s.Messages, Message{Text: r.text, Source: r.source, Count: 1, File: r.file, Line: r.line})
}

func (s *processState) infiniband(text string) {
	switch {
	case strings.Contains(text, "No device found"):
		s.NoIB = true
	case gdrDisabled.MatchString(text):
		device := gdrDisabled.FindStringSubmatch(text)[1]
		if !slices.Contains(s.GDRDisabled, device) {
			s.GDRDisabled = append(s.GDRDisabled, device)
		}
	default:
		match := ibUsing.FindStringSubmatch(text)
		if match == nil {
			return
		}
		for _, device := range ibDevice.FindAllStringSubmatch(match[1], -1) {
			if !slices.Contains(s.IBDevices, device[1]) {
				s.IBDevices = append(s.IBDevices, device[1])
			}
		}
	}
}

func (s *processState) connection(text string) {
	match := via.FindStringSubmatch(text)
	if match == nil {
		return
	}
	path := match[3]
	c := Connection{From: atoi(match[1]), To: atoi(match[2]), Via: path, GDR: strings.Contains(path, "GDRDMA")}
	first, rest, _ := strings.Cut(path, "/")
	c.Transport = first
	if first == "NET" {
		plugin, _, _ := strings.Cut(rest, "/")
		c.Transport = "NET/" + plugin
		if strings.HasPrefix(plugin, "IB") {
			c.Transport = "NET/IB" // IBext, IBext_v8, … are NVIDIA's plugin for the same verbs
		}
	}
	if len(s.channels) < 1<<16 {
		s.channels[c]++
	}
}

func (s *processState) choice(text string) {
	match := chosen.FindStringSubmatch(text)
	if match == nil {
		return
	}
	key := Choice{Collective: match[1], Algorithm: nameOf(match[3], algorithms), Protocol: nameOf(match[4], protocols)}
	choice := s.choices[key]
	if choice == nil {
		copied := key
		choice = &copied
		s.choices[key] = choice
	}
	choice.Count++
	bytes, _ := strconv.ParseInt(match[2], 10, 64)
	choice.MaxBytes = max(choice.MaxBytes, bytes)
}

func nameOf(text string, names []string) string {
	if n, err := strconv.Atoi(text); err == nil && n >= 0 && n < len(names) {
		return names[n]
	}
	return strings.ToUpper(text)
}

func (s *processState) comm(text string) {
	match := commLine.FindStringSubmatch(text)
	comm := s.comms[match[1]]
	if comm == nil || comm.done && strings.HasSuffix(text, "Init START") {
		comm = &commState{pointer: match[1], rank: -1}
		s.comms[match[1]] = comm
	}
	comm.rank, comm.ranks = atoi(match[2]), atoi(match[3])
	if id := commID.FindStringSubmatch(text); id != nil {
		comm.id = id[1]
	}
	switch {
	case strings.HasSuffix(text, "Init START"):
		comm.started = true
	case strings.HasSuffix(text, "Init COMPLETE"):
		comm.done = true
	}
}

func (p *parser) collective(s *processState, text string) {
	match := collective.FindStringSubmatch(text)
	if match == nil || match[1] == "Send" || match[1] == "Recv" {
		return
	}
	calls := s.calls[match[7]]
	if calls == nil {
		calls = &history{}
		s.calls[match[7]] = calls
	}
	if p.history++; p.history > maxHistory {
		if p.history == maxHistory+1 {
			p.report.Warnings = append(p.report.Warnings, traceindex.Warning{Code: "too-many-collectives",
				Message: fmt.Sprintf("more than %d collectives: the later ones are not compared between ranks", maxHistory)})
		}
		return
	}
	text = fmt.Sprintf("%s of %s %s", match[1], match[3], elements(match[4]))
	signature := text + " " + match[5] + " " + match[6]
	number, ok := p.signature[signature]
	if !ok {
		number = uint32(len(p.texts))
		p.texts = append(p.texts, text)
		p.signature[signature] = number
	}
	opCount, _ := strconv.ParseUint(match[2], 16, 64)
	calls.calls = append(calls.calls, call{signature: maphash.String(p.seed, signature), text: number, opCount: opCount})
}

// elements names ncclDataType_t.
func elements(number string) string {
	types := []string{"int8", "uint8", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64", "bfloat16", "float8_e4m3", "float8_e5m2"}
	if n := atoi(number); n >= 0 && n < len(types) {
		return types[n] + " elements"
	}
	return "elements of type " + number
}

func atoi(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return -1
	}
	return n
}
