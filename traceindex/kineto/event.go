package kineto

import (
	"math"

	"stepline/traceindex"
)

// span is a piece of the block an event lies in.
type span struct{ from, to int32 }

func (s span) of(b []byte) []byte { return b[s.from:s.to] }
func (s span) empty() bool        { return s.from == s.to }

// rawEvent is one event as it is written: places in the block, numbers that are needed, and which of them were there.
type rawEvent struct {
	phase         byte
	cat, name     span
	pid, tid      span
	tsNs, durNs   int64
	has           fields
	id            int64
	external      int64
	correlation   int64
	pythonID      int64
	pythonParent  int64
	module        int64
	sequence      int64
	forwardThread int64
	evIdx         int64
	device        int64
	stream        int64
	bytes         int64
	size          int64
	registers     int64
	shared        int64
	graphNode     int64
	totalAlloc    int64
	totalReserved int64
	groupSize     int64
	seq           int64
	inElements    int64
	outElements   int64
	grid, block   [3]int32
	occupancy     float32
	perSM         float32
	dims, types   span
	callStack     span
	collective    span
	group         span
	groupDesc     span
	groupRanks    span
	dtype         span
	communicator  span
	argName       span
	argLabels     span
	badWords      int64 // values that no JSON number can be, and the place of the first
	badWordAt     int
}

// fields tells which parts an event has.
type fields uint64

const (
	hasTs fields = 1 << iota
	hasDur
	hasBadTime
	hasID
	hasExternal
	hasCorrelation
	hasPythonID
	hasPythonParent
	hasModule
	hasSequence
	hasForwardThread
	hasEvIdx
	hasDevice
	hasStream
	hasBytes
	hasSize
	hasRegisters
	hasShared
	hasGraphNode
	hasTotals
	hasGroupSize
	hasSeq
	hasElements
	hasGrid
	hasOccupancy
	hasPerSM
	hasPhase
)

// event reads the object that begins at b[i] into p.raw. It returns the place after it; −1 at the end of the data; −2 if it is
// damaged, with the place in p.badAt.
func (p *parser) event(b []byte, i int) int {
	e := &p.raw
	*e = rawEvent{}
	p.badAt = 0
	k := keyEventStart
	i++
	for {
		p.inArgs = false
		at := i
		k, i = p.next(b, i, k)
		if i < 0 {
			return i
		}
		value := i
		switch k {
		case keyEnd:
			return i
		case keyPh:
			var s span
			if i = p.text(b, i, &s); s.to-s.from == 1 {
				e.phase = b[s.from]
				e.has |= hasPhase
			}
		case keyCat:
			i = p.text(b, i, &e.cat)
		case keyName:
			i = p.text(b, i, &e.name)
		case keyPid:
			i = p.word(b, i, &e.pid)
		case keyTid:
			i = p.word(b, i, &e.tid)
		case keyTs:
			if e.tsNs, i = timeNs(b, i); i >= 0 {
				e.has |= hasTs
			} else if i == -2 {
				i = p.badNumber(b, value)
			}
		case keyDur:
			if e.durNs, i = timeNs(b, i); i >= 0 {
				e.has |= hasDur
			} else if i == -2 {
				i = p.badNumber(b, value)
			}
		case keyID:
			i = p.number(b, i, &e.id, hasID)
		case keyArgs:
			if b[i] == '{' {
				i = p.args(b, i)
			} else {
				i = p.skip(b, i)
			}
		default:
			i = p.skip(b, i)
		}
		if i < 0 {
			if i == -2 {
				return p.bad(b, p.badFrom(at))
			}
			return -1
		}
	}
}

// bad notes where an event breaks off.
func (p *parser) bad(b []byte, i int) int {
	if i >= len(b)-padBytes {
		return -1
	}
	p.badAt = i
	return -2
}

func (p *parser) badFrom(at int) int {
	if p.badAt > at {
		return p.badAt
	}
	return at
}

// text takes a string's raw bytes; any other value is passed over.
func (p *parser) text(b []byte, i int, out *span) int {
	if b[i] != '"' {
		return p.skip(b, i)
	}
	q := stringEnd(b, i+1)
	if q < 0 {
		return -1
	}
	*out = span{int32(i + 1), int32(q)}
	return q + 1
}

// word takes a string without its quotes or a bare value as it is written: ids are kept digit for digit.
func (p *parser) word(b []byte, i int, out *span) int {
	if b[i] == '"' {
		return p.text(b, i, out)
	}
	end := p.skip(b, i)
	if end > 0 {
		*out = span{int32(i), int32(end)}
	}
	return end
}

func (p *parser) number(b []byte, i int, out *int64, has fields) int {
	v, ok, end := integer(b, i)
	if ok {
		*out = v
		p.raw.has |= has
	} else if end > 0 {
		p.checkWord(b, i)
	}
	return end
}

// skip passes over a value that is not needed.
func (p *parser) skip(b []byte, i int) int {
	end := valueEnd(b, i)
	if end > 0 {
		p.checkWord(b, i)
	}
	return end
}

// checkWord notes bare values that are not JSON: kineto wrote inf and nan for rates over no time (kineto#105).
func (p *parser) checkWord(b []byte, i int) {
	switch c := b[i]; {
	case c == '-':
		if b[i+1] == 'i' || b[i+1] == 'I' || b[i+1] == 'n' || b[i+1] == 'N' {
			p.raw.badWord(i)
		}
	case c == 'i', c == 'I', c == 'N', c == 'n' && b[i+1] != 'u':
		p.raw.badWord(i)
	}
}

// badWord counts a bare value that is no number. An event may be read twice, so what it holds is told only when it is emitted.
func (e *rawEvent) badWord(i int) {
	if e.badWords == 0 {
		e.badWordAt = i
	}
	e.badWords++
}

// badNumber passes over a time that is none; the event goes on, and is dropped when it is complete.
func (p *parser) badNumber(b []byte, i int) int {
	p.raw.has |= hasBadTime
	return p.skip(b, i)
}

// args reads the "args" object that begins at b[i]; only what analysis uses is kept.
func (p *parser) args(b []byte, i int) int {
	e := &p.raw
	k := keyArgsStart
	i++
	p.inArgs = true
	for {
		at := i
		k, i = p.next(b, i, k)
		if i < 0 {
			return i
		}
		switch k {
		case keyEnd:
			return i
		case keyExternal:
			i = p.number(b, i, &e.external, hasExternal)
		case keyCorrelation:
			i = p.number(b, i, &e.correlation, hasCorrelation)
		case keyPythonID:
			i = p.number(b, i, &e.pythonID, hasPythonID)
		case keyPythonParent:
			i = p.number(b, i, &e.pythonParent, hasPythonParent)
		case keyModule:
			i = p.number(b, i, &e.module, hasModule)
		case keySequence:
			i = p.number(b, i, &e.sequence, hasSequence)
		case keyForwardThread:
			i = p.number(b, i, &e.forwardThread, hasForwardThread)
		case keyEvIdx:
			i = p.number(b, i, &e.evIdx, hasEvIdx)
		case keyDims:
			i = p.word(b, i, &e.dims)
		case keyTypes:
			i = p.word(b, i, &e.types)
		case keyCallStack:
			i = p.text(b, i, &e.callStack)
		case keyDevice:
			i = p.number(b, i, &e.device, hasDevice)
		case keyStream:
			i = p.number(b, i, &e.stream, hasStream)
		case keyBytes:
			i = p.number(b, i, &e.bytes, hasBytes)
		case keySize:
			i = p.number(b, i, &e.size, hasSize)
		case keyGrid:
			i = p.triple(b, i, &e.grid)
		case keyBlock:
			i = p.triple(b, i, &e.block)
		case keyRegisters:
			i = p.number(b, i, &e.registers, hasRegisters)
		case keyShared:
			i = p.number(b, i, &e.shared, hasShared)
		case keyPerSM:
			i = p.rate(b, i, &e.perSM, hasPerSM)
		case keyOccupancy:
			i = p.rate(b, i, &e.occupancy, hasOccupancy)
		case keyGraphNode:
			i = p.number(b, i, &e.graphNode, hasGraphNode)
		case keyTotalAllocated:
			i = p.number(b, i, &e.totalAlloc, hasTotals)
		case keyTotalReserved:
			i = p.number(b, i, &e.totalReserved, hasTotals)
		case keyCollective:
			i = p.text(b, i, &e.collective)
		case keyGroup:
			i = p.word(b, i, &e.group)
		case keyGroupDescription:
			i = p.text(b, i, &e.groupDesc)
		case keyGroupRanks:
			i = p.word(b, i, &e.groupRanks)
		case keyGroupSize:
			i = p.number(b, i, &e.groupSize, hasGroupSize)
		case keySeq:
			i = p.number(b, i, &e.seq, hasSeq)
		case keyInElements:
			i = p.number(b, i, &e.inElements, hasElements)
		case keyOutElements:
			i = p.number(b, i, &e.outElements, hasElements)
		case keyDtype:
			i = p.text(b, i, &e.dtype)
		case keyCommunicator:
			i = p.word(b, i, &e.communicator)
		case keyArgName:
			i = p.text(b, i, &e.argName)
		case keyArgLabels:
			i = p.text(b, i, &e.argLabels)
		default:
			i = p.skip(b, i)
		}
		if i < 0 {
			if i == -2 {
				return p.bad(b, p.badFrom(at))
			}
			return -1
		}
	}
}

func (p *parser) rate(b []byte, i int, out *float32, has fields) int {
	v, end := decimal(b, i)
	if end > 0 {
		*out = v
		p.raw.has |= has
		p.checkWord(b, i)
	}
	return end
}

// triple reads [x, y, z].
func (p *parser) triple(b []byte, i int, out *[3]int32) int {
	end := valueEnd(b, i)
	if end < 0 || b[i] != '[' {
		return end
	}
	i++
	for k := range out {
		i = skipSpace(b, i)
		v, ok, next := integer(b, i)
		if !ok || next > end {
			return end
		}
		out[k] = int32(min(v, math.MaxInt32))
		if i = skipSpace(b, next); b[i] != ',' {
			break
		}
		i++
	}
	p.raw.has |= hasGrid
	return end
}

// opDetail, pythonDetail, gpuDetail and the rest turn p.raw into rows of the index.
func (p *parser) opDetail(b []byte) int32 {
	e := &p.raw
	if e.has&(hasSequence|hasForwardThread) == 0 && e.dims.empty() && e.types.empty() && e.callStack.empty() {
		return p.plainOp()
	}
	d := traceindex.OpDetail{Sequence: -1}
	if e.has&hasSequence != 0 {
		d.Sequence = e.sequence
	}
	if e.has&hasForwardThread != 0 {
		d.ForwardThread = int32(min(max(e.forwardThread, 0), math.MaxInt32))
	}
	d.Dims, d.Types, d.CallStack = p.name(b, e.dims), p.name(b, e.types), p.name(b, e.callStack)
	return p.b.AddOp(d)
}

func (p *parser) plainOp() int32 {
	if p.plain < 0 {
		p.plain = p.b.AddOp(traceindex.OpDetail{Sequence: -1})
	}
	return p.plain
}

func (p *parser) pythonDetail() int32 {
	e := &p.raw
	d := traceindex.PythonDetail{ModuleID: -1, Location: -1}
	if e.has&hasPythonParent != 0 && e.pythonParent > 0 {
		d.ParentID = uint64(e.pythonParent)
	}
	if e.has&hasModule != 0 && e.module >= 0 && e.module <= math.MaxInt32 {
		d.ModuleID = int32(e.module)
	}
	return p.b.AddPython(d)
}

func (p *parser) gpuDetail(b []byte) int32 {
	e := &p.raw
	nan := float32(math.NaN())
	d := traceindex.GPUDetail{Device: -1, Stream: -1, Bytes: -1, Grid: e.grid, Block: e.block, Registers: int32(e.registers),
		SharedBytes: int32(min(e.shared, math.MaxInt32)), OccupancyPercent: nan, BlocksPerSM: nan, GraphNode: uint64(e.graphNode), Collective: -1}
	if e.has&hasOccupancy != 0 {
		d.OccupancyPercent = e.occupancy
	}
	if e.has&hasPerSM != 0 {
		d.BlocksPerSM = e.perSM
	}
	if e.has&hasBytes != 0 {
		d.Bytes = e.bytes
	}
	if e.has&hasDevice != 0 {
		d.Device = e.device
	} else if v, ok, _ := integerOf(e.pid.of(b)); ok {
		d.Device = v
	}
	if e.has&hasStream != 0 {
		d.Stream = e.stream
	} else if v, ok, _ := integerOf(streamNumber(e.tid.of(b))); ok {
		d.Stream = v
	}
	if e.has&hasExternal != 0 && (e.has&hasCorrelation == 0 || e.correlation == 0) {
		d.External = uint64(e.external)
	}
	if e.has&hasExternal != 0 && e.external > 0 {
		p.b.NextExternal(uint64(e.external))
	}
	if !e.collective.empty() || !e.group.empty() || !e.communicator.empty() {
		d.Collective = p.b.AddCollective(p.collectiveOf(b))
	}
	return p.b.AddGPU(d)
}

func (p *parser) collectiveOf(b []byte) traceindex.Collective {
	e := &p.raw
	c := traceindex.Collective{Sequence: -1, GroupSize: int32(min(e.groupSize, math.MaxInt32)), InElements: e.inElements, OutElements: e.outElements}
	if e.has&hasSeq != 0 {
		c.Sequence = e.seq
	}
	for _, part := range []struct {
		to   *string
		from span
	}{{&c.Name, e.collective}, {&c.GroupName, e.group}, {&c.GroupDescription, e.groupDesc}, {&c.Type, e.dtype},
		{&c.Ranks, e.groupRanks}, {&c.CommunicatorID, e.communicator}} {
		*part.to = p.b.NameText(p.name(b, part.from))
	}
	return c
}

// integerOf reads a whole number that fills b.
func integerOf(b []byte) (v int64, ok bool, end int) {
	if len(b) == 0 || len(b) > 20 {
		return 0, false, 0
	}
	var padded [20 + padBytes + 1]byte
	n := copy(padded[:], b)
	padded[n] = ' '
	v, ok, end = integer(padded[:], 0)
	return v, ok && end == n, end
}

// streamNumber cuts "stream 7" to "7", as torch before 1.10 wrote it.
func streamNumber(tid []byte) []byte {
	const word = "stream "
	if len(tid) > len(word) && string(tid[:len(word)]) == word {
		return tid[len(word):]
	}
	return tid
}
