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
	"slices"
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
