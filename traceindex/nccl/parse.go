package nccl

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"stepline/traceindex"
)

// maxLineBytes bounds a line that is looked at; the rest of a longer one is passed over.
const maxLineBytes = 1 << 20

// maxHistory bounds the collectives kept for matching ranks, over all ranks.
const maxHistory = 4 << 20

// maxUndecided bounds the records that wait for a record that shows where their host's name begins.
const maxUndecided = 4096

// Sniff reports whether a file's first bytes (64 KiB are plenty) hold an NCCL record or an nccl-tests table.
func Sniff(head []byte) bool {
	if text, err := decode(bytes.NewReader(head)); err == nil {
		head, _ = io.ReadAll(io.LimitReader(text, 1<<20))
	}
	for line := range bytes.Lines(head) {
		text := string(line)
		if _, ok := parseRecord(text); ok {
			return true
		}
		if bareVersion.MatchString(colours.ReplaceAllString(text, "")) {
			return true
		}
		if isTableHeader(text) {
			return true
		}
	}
	return false
}

// Read reads the logs of one job, gzipped or not, in the order given. A log without any NCCL record is an error.
func Read(ctx context.Context, paths ...string) (*Report, error) {
	p := newParser()
	for _, path := range paths {
		if err := p.readFile(ctx, path); err != nil {
			return nil, err
		}
	}
	return p.finish(), nil
}

// Parse reads one log; name is the file's, for messages.
func Parse(ctx context.Context, r io.Reader, name string) (*Report, error) {
	p := newParser()
	if err := p.read(ctx, r, name); err != nil {
		return nil, err
	}
	return p.finish(), nil
}

func decode(r io.Reader) (io.Reader, error) {
	in := bufio.NewReader(r)
	if magic, _ := in.Peek(2); len(magic) == 2 && magic[0] == 0x1f && magic[1] == 0x8b {
		return gzip.NewReader(in)
	}
	return in, nil
}

type processKey struct{ host, pid string }

type processState struct {
	Process
	key      processKey
	comms    map[string]*commState // by pointer: the process' own
	channels map[Connection]int
	choices  map[Choice]*Choice
	messages map[string]int // text → row of Messages
	order    int
	calls    map[string]*history // pointer → its collectives
}

type commState struct {
	id, pointer string
	rank, ranks int
	started     bool
	done        bool
}

// history is what one rank called on one communicator, in order.
type history struct {
	calls []call
}

type call struct {
	signature uint64
	text      uint32 // row of parser.calls
	opCount   uint64
}

type parser struct {
	report    *Report
	processes map[processKey]*processState
	byPID     map[string][]*processState
	undecided []record
	benchmark *benchmarkReader
	seed      maphash.Seed
	history   int
	signature map[string]uint32 // text of a call → its number
	texts     []string
}

func newParser() *parser {
	return &parser{
		report: &Report{}, processes: map[processKey]*processState{}, byPID: map[string][]*processState{},
		benchmark: &benchmarkReader{}, seed: maphash.MakeSeed(), signature: map[string]uint32{},
	}
}

func (p *parser) readFile(ctx context.Context, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("nccl: %w", err)
	}
	defer file.Close()
	return p.read(ctx, file, path)
}

func (p *parser) read(ctx context.Context, r io.Reader, name string) error {
	text, err := decode(r)
	if err != nil {
		return fmt.Errorf("nccl: %s: %w", name, err)
	}
	p.report.Files = append(p.report.Files, name)
	before := p.report.InfoRecords + p.report.WarnRecords + len(p.report.Versions)
	in := bufio.NewReaderSize(text, 1<<16)
	for number := 1; ; number++ {
		if number%4096 == 0 && ctx.Err() != nil {
			return fmt.Errorf("nccl: %s: %w", name, ctx.Err())
		}
		line, err := readLine(in)
		if err != nil && !errors.Is(err, io.EOF) {
			if number == 1 {
				return fmt.Errorf("nccl: %s: line %d: %w", name, number, err)
			}
			p.report.Warnings = append(p.report.Warnings, traceindex.Warning{
				Code: "cut-short", Message: fmt.Sprintf("reading stopped at line %d: %v", number, err), File: name})
			err = io.EOF
		}
		p.line(line, number, name)
		if err != nil {
			break
		}
	}
	p.settle()
	p.benchmark.end(p.report)
	if p.report.InfoRecords+p.report.WarnRecords+len(p.report.Versions) == before && len(p.report.Benchmarks) == 0 {
		return fmt.Errorf("nccl: %s: no NCCL record in it; run with NCCL_DEBUG=INFO", name)
	}
	return nil
}

// readLine returns the next line, at most maxLineBytes of it.
func readLine(in *bufio.Reader) (string, error) {
	var text []byte
	for {
		part, err := in.ReadSlice('\n')
		if len(text) < maxLineBytes {
			text = append(text, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		return strings.TrimRight(string(text), "\r\n"), err
	}
}

func (p *parser) line(line string, number int, file string) {
	record, ok := parseRecord(line)
	if !ok {
		if strings.Contains(line, "version") {
			if match := bareVersion.FindStringSubmatch(colours.ReplaceAllString(line, "")); match != nil {
				p.version(match[1])
				return
			}
		}
		p.benchmark.line(line, file, p.report)
		return
	}
	record.line, record.file = number, file
	if record.warn {
		p.report.WarnRecords++
	} else {
		p.report.InfoRecords++
	}
	process := p.find(&record)
	if process == nil {
		p.undecided = append(p.undecided, record)
		return
	}
	p.take(process, record)
}

// find is the process of a record, nil if it cannot be told yet. Behind "loss 2.1" the host of 2.1node-a is node-a: a known
// process with the same pid and a host that ends the name decides.
func (p *parser) find(r *record) *processState {
	key := processKey{r.host, r.pid}
	if process := p.processes[key]; process != nil {
		return process
	}
	if r.clean || len(p.undecided) >= maxUndecided {
		return p.add(key)
	}
	for _, process := range p.byPID[r.pid] {
		if strings.HasSuffix(r.host, process.Host) {
			return process
		}
	}
	return nil
}

func (p *parser) add(key processKey) *processState {
	process := &processState{
		Process: Process{Host: key.host, PID: key.pid, Rank: -1, CollChannels: -1, P2PChannels: -1, Env: map[string]string{}},
		key:     key, comms: map[string]*commState{}, channels: map[Connection]int{}, choices: map[Choice]*Choice{},
		messages: map[string]int{}, order: len(p.processes), calls: map[string]*history{},
	}
	p.processes[key] = process
	p.byPID[key.pid] = append(p.byPID[key.pid], process)
	return process
}

// settle decides the records whose host is not known for sure.
func (p *parser) settle() {
	waiting := p.undecided
	p.undecided = nil
	for _, r := range waiting {
		process := p.find(&r)
		if process == nil {
			process = p.add(processKey{r.host, r.pid})
		}
		p.take(process, r)
	}
}

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

// finish turns the states into the report.
func (p *parser) finish() *Report {
	states := make([]*processState, 0, len(p.processes))
	for _, state := range p.processes {
		for _, comm := range state.comms {
			if comm.ranks > state.Ranks || comm.ranks == state.Ranks && state.Rank < 0 {
				state.Rank, state.Ranks = comm.rank, comm.ranks
			}
		}
		state.freeze()
		states = append(states, state)
	}
	slices.SortFunc(states, func(a, b *processState) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Host, b.Host), cmp.Compare(a.order, b.order))
	})
	rows := map[string]int{}
	p.report.collectives = map[string]map[int]*history{}
	for row, state := range states {
		p.report.Processes = append(p.report.Processes, state.Process)
		pointers := make([]string, 0, len(state.comms))
		for pointer := range state.comms {
			pointers = append(pointers, pointer)
		}
		slices.Sort(pointers)
		for _, pointer := range pointers {
			p.member(state.comms[pointer], row, rows, state)
		}
	}
	p.report.mismatches(p.texts)
	return p.report
}

func (p *parser) member(comm *commState, row int, rows map[string]int, state *processState) {
	id := comm.id
	if id == "" {
		id = state.Host + ":" + state.PID + ":" + comm.pointer // versions before 2.18 print no commId: nothing joins the ranks
	}
	at, ok := rows[id]
	if !ok {
		at = len(p.report.Comms)
		rows[id] = at
		p.report.Comms = append(p.report.Comms, Comm{ID: id, Ranks: comm.ranks, Members: map[int]int{}})
	}
	p.report.Comms[at].Members[comm.rank] = row
	if comm.started && !comm.done {
		p.report.Comms[at].Unfinished = append(p.report.Comms[at].Unfinished, comm.rank)
	}
	if calls := state.calls[comm.pointer]; calls != nil {
		if p.report.collectives[id] == nil {
			p.report.collectives[id] = map[int]*history{}
		}
		p.report.collectives[id][comm.rank] = calls
	} else if len(state.calls) > 0 {
		if p.report.collectives[id] == nil {
			p.report.collectives[id] = map[int]*history{}
		}
		p.report.collectives[id][comm.rank] = &history{} // it logs collectives, but called none here
	}
}

func (s *processState) freeze() {
	for connection, count := range s.channels {
		connection.Channels = count
		s.Connections = append(s.Connections, connection)
	}
	slices.SortFunc(s.Connections, func(a, b Connection) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), cmp.Compare(a.Via, b.Via))
	})
	for _, choice := range s.choices {
		s.Choices = append(s.Choices, *choice)
	}
	slices.SortFunc(s.Choices, func(a, b Choice) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Collective, b.Collective), cmp.Compare(a.Algorithm+a.Protocol, b.Algorithm+b.Protocol))
	})
}
