package kineto

import "encoding/binary"

// key numbers the keys that events and their args have. Those without a case in the readers' switches are passed over.
type key uint8

const (
	keyEnd key = iota // the object's closing brace
	keyEventStart
	keyArgsStart
	keyPh
	keyCat
	keyName
	keyPid
	keyTid
	keyTs
	keyDur
	keyID
	keyArgs
	keyExternal
	keyCorrelation
	keyPythonID
	keyPythonParent
	keyModule
	keySequence
	keyForwardThread
	keyEvIdx
	keyDims
	keyTypes
	keyCallStack
	keyDevice
	keyStream
	keyBytes
	keySize
	keyGrid
	keyBlock
	keyRegisters
	keyShared
	keyPerSM
	keyOccupancy
	keyGraphNode
	keyTotalAllocated
	keyTotalReserved
	keyCollective
	keyGroup
	keyGroupDescription
	keyGroupRanks
	keyGroupSize
	keySeq
	keyInElements
	keyOutElements
	keyDtype
	keyCommunicator
	keyArgName
	keyArgLabels
	keyFirstOther // further keys get the numbers from here on as they are met
	keyLastOther  = 0xff
)

var eventKeys = map[string]key{"ph": keyPh, "cat": keyCat, "name": keyName, "pid": keyPid, "tid": keyTid, "ts": keyTs, "dur": keyDur,
	"id": keyID, "args": keyArgs}

var argKeys = map[string]key{
	"External id": keyExternal, "external id": keyExternal,
	"correlation": keyCorrelation, "Correlation ID": keyCorrelation, "correlation id": keyCorrelation,
	"Python id": keyPythonID, "Python parent id": keyPythonParent, "Python module id": keyModule,
	"Sequence number": keySequence, "Fwd thread id": keyForwardThread, "Ev Idx": keyEvIdx,
	"Input Dims": keyDims, "Input dims": keyDims, "Input type": keyTypes, "Call stack": keyCallStack,
	"device": keyDevice, "Device Id": keyDevice, "stream": keyStream, "bytes": keyBytes, "Bytes": keyBytes, "size": keySize, "grid": keyGrid, "block": keyBlock,
	"registers per thread": keyRegisters, "shared memory": keyShared, "blocks per SM": keyPerSM, "est. achieved occupancy %": keyOccupancy,
	"graph node id": keyGraphNode, "Total Allocated": keyTotalAllocated, "Total Reserved": keyTotalReserved,
	"Collective name": keyCollective, "Process Group Name": keyGroup, "Process Group Description": keyGroupDescription,
	"Process Group Ranks": keyGroupRanks, "Group size": keyGroupSize, "Seq": keySeq, "In msg nelems": keyInElements,
	"Out msg nelems": keyOutElements, "dtype": keyDtype, "Comms Id": keyCommunicator, "comms_id": keyCommunicator,
	"name": keyArgName, "labels": keyArgLabels,
}

// guess is what stood, the last time, between a key's value and the next value: `,"dur":`. Writers emit the same keys in the
// same order for thousands of events, so comparing with that is nearly always right and saves reading the key.
type guess struct {
	text string
	key  key
	// word and mask are the text's first sixteen bytes, for comparing without a call.
	word, mask [2]uint64
}

func newGuess(text string, k key) guess {
	g := guess{text: text, key: k}
	var first, used [16]byte
	n := copy(first[:], text)
	for i := range n {
		used[i] = 0xff
	}
	for i := range g.word {
		g.word[i], g.mask[i] = binary.LittleEndian.Uint64(first[8*i:]), binary.LittleEndian.Uint64(used[8*i:])
	}
	return g
}

// stands reports whether the guessed text stands at b[i], where it can be looked at without leaving b.
func (g *guess) stands(b []byte, i int) bool {
	if (binary.LittleEndian.Uint64(b[i:])^g.word[0])&g.mask[0]|(binary.LittleEndian.Uint64(b[i+8:])^g.word[1])&g.mask[1] != 0 {
		return false
	}
	return len(g.text) <= 16 || string(b[i+16:i+len(g.text)]) == g.text[16:]
}

// guesser holds a few guesses for what follows each key.
type guesser struct {
	after  [256][5]guess
	others map[string]key
}

const guessBytes = 64 // longer texts are not worth keeping

// next reads up to the next value of an object: b[i] is behind the value of prev, or behind the opening brace. It returns the
// key and the place of its value, or keyEnd and the place behind the brace. ok is false with end −1 or −2 as elsewhere; for
// −2, p.badAt is the place.
func (p *parser) next(b []byte, i int, prev key) (k key, end int) {
	g := &p.guesses.after[prev]
	for n := range g {
		t := g[n].text
		if t == "" {
			break
		}
		if len(b)-i > max(len(t), 16) && g[n].stands(b, i) {
			k = g[n].key
			if isSpace(b[i+len(t)]) && k != keyEnd {
				continue // the value stands further on
			}
			if n > 0 { // the likelier moves forward
				g[n], g[n-1] = g[n-1], g[n]
			}
			return k, i + len(t)
		}
	}
	k, end = p.readKey(b, i, prev)
	if end > 0 && end-i <= guessBytes {
		copy(g[1:], g[:])
		g[0] = newGuess(string(b[i:end]), k)
	}
	return k, end
}

func (p *parser) readKey(b []byte, i int, prev key) (key, int) {
	for {
		i = skipSpace(b, i)
		if b[i] != ',' {
			break
		}
		i++
	}
	switch b[i] {
	case '"':
	case '}':
		return keyEnd, i + 1
	default:
		return keyEnd, p.bad(b, i)
	}
	from := i + 1
	i = stringEnd(b, from)
	if i < 0 {
		return keyEnd, -1
	}
	name := b[from:i]
	if i = skipSpace(b, i+1); b[i] != ':' {
		return keyEnd, p.bad(b, i)
	}
	i = skipSpace(b, i+1)
	if i >= len(b)-padBytes {
		return keyEnd, -1
	}
	known := argKeys
	if prev == keyEventStart || prev >= keyPh && prev <= keyArgs || prev >= keyFirstOther && !p.inArgs {
		known = eventKeys
	}
	if k, ok := known[string(name)]; ok {
		return k, i
	}
	return p.guesses.other(name, p.inArgs), i
}

// other numbers a key that is not needed, so that what follows it can be guessed too. Keys of events and of args are apart.
func (g *guesser) other(name []byte, inArgs bool) key {
	if g.others == nil {
		g.others = map[string]key{}
	}
	prefix := "e"
	if inArgs {
		prefix = "a"
	}
	if k, ok := g.others[prefix+string(name)]; ok {
		return k
	}
	k := int(keyFirstOther) + len(g.others)
	if k >= keyLastOther || len(name) > guessBytes {
		return keyLastOther
	}
	g.others[prefix+string(name)] = key(k)
	return key(k)
}
