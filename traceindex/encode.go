package traceindex

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"reflect"
	"slices"
	"unsafe"

	"github.com/cespare/xxhash/v2"
)

// An encoded Index is, in this order: magic, the fingerprint of the layout, the checksum and length of the body, the body. The
// body is a list of sections, each its length in bytes and its bytes, padded to eight: the columns as they lie in memory, the
// names' lengths and text, and one gob of everything small. Decode copies no column; opening is reading the file and one
// checksum over it.

var encodedMagic = [8]byte{'s', 't', 'e', 'p', 'l', 'i', 'x', '1'}

const encodedHeader = 8 + 8 + 8 + 8

// smallParts is what is not a column.
type smallParts struct {
	Meta           Meta
	Threads        []Thread
	Warnings       []Warning
	Locations      []Location
	Collectives    []Collective
	CallLines      []CallLine
	HostThreads    []ThreadID
	TrainingThread ThreadID
	StepSources    []string
	CutDurNs       map[EventID]int64
	CallKinds      map[NameID]CallKind
	LongestGPUNs   int64
	Rows           int
}

// LayoutFingerprint changes when what Encode writes does: it covers the columns' and tables' types.
func LayoutFingerprint() uint64 {
	h := fnv.New64a()
	var describe func(t reflect.Type)
	describe = func(t reflect.Type) {
		fmt.Fprintf(h, "%s/%d;", t.Kind(), t.Size())
		if t.Kind() == reflect.Struct {
			for f := range t.NumField() {
				fmt.Fprintf(h, "%s@%d:", t.Field(f).Name, t.Field(f).Offset)
				describe(t.Field(f).Type)
			}
		}
	}
	for _, v := range []any{OpDetail{}, PythonDetail{}, GPUDetail{}, MemoryDetail{}, clamp{}, stepRow{}, smallParts{}, Meta{}, Thread{}, Step{}, Location{}, CallLine{}, Collective{}, Warning{}} {
		describe(reflect.TypeOf(v))
	}
	for c := range categoryCount {
		fmt.Fprintf(h, "%d%d;", c, nestingRank[c])
	}
	return h.Sum64()
}

// bytesOf is a slice's memory. T holds no pointers.
func bytesOf[T any](s []T) []byte {
	if len(s) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(s[0])))
}

// sections lists the columns that are written as they lie in memory, in the order of the file.
func (ix *Index) sections(forward *[]EventID, steps *[]stepRow) []section {
	e := &ix.Events
	return []section{
		of(&e.StartNs), of(&e.DurNs), of(&e.Name), of(&e.Category), of(&e.Thread), of(&e.Link), of(&e.Detail),
		of(&ix.Ops), of(&ix.Python), of(&ix.GPU), of(&ix.Memory),
		of(&ix.Parent), of(&ix.subtreeEnd), of(&ix.threadRows), of(&ix.clamps), of(&ix.clamped),
		of(&ix.Launch), of(&ix.launched), of(&ix.launchRows), of(&ix.GPUEvents), of(&ix.callLineOf), of(forward), of(steps),
	}
}

// stepRow is a Step without pointers.
type stepRow struct {
	number, startNs, endNs int64
	source                 int64 // of smallParts.StepSources
}

// stepRows are the steps as rows, with the sources they name.
func (ix *Index) stepRows() (rows []stepRow, sources []string) {
	rows = make([]stepRow, len(ix.Steps))
	for i, s := range ix.Steps {
		source := slices.Index(sources, s.Source)
		if source < 0 {
			source = len(sources)
			sources = append(sources, s.Source)
		}
		rows[i] = stepRow{int64(s.Number), s.StartNs, s.EndNs, int64(source)}
	}
	return rows, sources
}

func stepsOf(rows []stepRow, sources []string) ([]Step, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	steps := make([]Step, len(rows))
	for i, r := range rows {
		if r.source < 0 || r.source >= int64(len(sources)) {
			return nil, ErrEncoding
		}
		steps[i] = Step{Number: int(r.number), StartNs: r.startNs, EndNs: r.endNs, Source: sources[r.source]}
	}
	return steps, nil
}

// section is one column to write from or read into.
type section struct {
	bytes func() []byte
	set   func([]byte) error
}

func of[T any](s *[]T) section {
	return section{
		bytes: func() []byte { return bytesOf(*s) },
		set: func(b []byte) error {
			size := int(unsafe.Sizeof(*new(T)))
			if len(b)%size != 0 {
				return errors.New("a column of broken length")
			}
			if len(b) == 0 {
				*s = nil
				return nil
			}
			*s = unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/size)
			return nil
		},
	}
}

// Encode writes the Index for Decode of the same LayoutFingerprint.
func (ix *Index) Encode(out io.WriteSeeker) error {
	forward := make([]EventID, 0, 2*len(ix.ForwardOf))
	for node, op := range ix.ForwardOf {
		forward = append(forward, node, op)
	}
	steps, sources := ix.stepRows()
	var small bytes.Buffer
	err := gob.NewEncoder(&small).Encode(&smallParts{ix.Meta, ix.Threads, ix.Warnings, ix.Locations, ix.Collectives, ix.CallLines, ix.HostThreads,
		ix.TrainingThread, sources, ix.cutDurNs, ix.callKinds, ix.longestGPUNs, ix.rows})
	if err != nil {
		return fmt.Errorf("traceindex: encode: %w", err)
	}
	lengths := make([]uint32, len(ix.Names))
	for i, n := range ix.Names {
		lengths[i] = uint32(len(n))
	}
	sum := xxhash.New()
	if _, err := out.Seek(encodedHeader, io.SeekStart); err != nil {
		return fmt.Errorf("traceindex: encode: %w", err)
	}
	w := bufio.NewWriterSize(io.MultiWriter(out, sum), 1<<20)
	var written uint64
	put := func(b []byte) {
		n, _ := w.Write(b) // the writer keeps its first error for Flush
		written += uint64(n)
	}
	begin := func(length int) {
		put(binary.LittleEndian.AppendUint64(nil, uint64(length)))
	}
	end := func(length int) {
		put(make([]byte, -length&7))
	}
	for _, s := range ix.sections(&forward, &steps) {
		b := s.bytes()
		begin(len(b))
		put(b)
		end(len(b))
	}
	begin(4 * len(lengths))
	put(bytesOf(lengths))
	end(4 * len(lengths))
	text := 0
	for _, n := range ix.Names {
		text += len(n)
	}
	begin(text)
	for _, n := range ix.Names {
		put(unsafe.Slice(unsafe.StringData(n), len(n)))
	}
	end(text)
	begin(small.Len())
	put(small.Bytes())
	end(small.Len())
	if err := w.Flush(); err != nil {
		return fmt.Errorf("traceindex: encode: %w", err)
	}
	if _, err := out.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("traceindex: encode: %w", err)
	}
	header := append([]byte(nil), encodedMagic[:]...)
	header = binary.LittleEndian.AppendUint64(header, LayoutFingerprint())
	header = binary.LittleEndian.AppendUint64(header, sum.Sum64())
	header = binary.LittleEndian.AppendUint64(header, written)
	if _, err := out.Write(header); err != nil {
		return fmt.Errorf("traceindex: encode: %w", err)
	}
	return nil
}

// ErrEncoding is wrapped by Decode's errors: the bytes are of another version or damaged.
var ErrEncoding = errors.New("traceindex: not an encoded index of this version")

// Decode makes an Index of Encode's bytes. The Index uses data's memory from then on. The checksum is verified first; what
// passes it is taken as written.
func Decode(data []byte) (ix *Index, err error) {
	if len(data) < encodedHeader || !bytes.Equal(data[:8], encodedMagic[:]) {
		return nil, ErrEncoding
	}
	header := data[:encodedHeader]
	body := data[encodedHeader:]
	if binary.LittleEndian.Uint64(header[8:]) != LayoutFingerprint() || binary.LittleEndian.Uint64(header[24:]) != uint64(len(body)) ||
		binary.LittleEndian.Uint64(header[16:]) != xxhash.Sum64(body) {
		return nil, ErrEncoding
	}
	if uintptr(unsafe.Pointer(unsafe.SliceData(body)))%8 != 0 {
		aligned := make([]uint64, (len(body)+7)/8)
		copy(bytesOf(aligned), body)
		body = bytesOf(aligned)[:len(body)]
	}
	take := func() ([]byte, error) {
		if len(body) < 8 {
			return nil, ErrEncoding
		}
		n := binary.LittleEndian.Uint64(body)
		body = body[8:]
		if n > uint64(len(body)) || (n+7)&^7 > uint64(len(body)) {
			return nil, ErrEncoding
		}
		b := body[:n:n]
		body = body[(n+7)&^7:]
		return b, nil
	}
	ix = &Index{}
	var forward []EventID
	var steps []stepRow
	for _, s := range ix.sections(&forward, &steps) {
		b, err := take()
		if err != nil {
			return nil, err
		}
		if err := s.set(b); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrEncoding, err)
		}
	}
	var lengths []uint32
	lengthBytes, err := take()
	if err != nil {
		return nil, err
	}
	if err := of(&lengths).set(lengthBytes); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrEncoding, err)
	}
	text, err := take()
	if err != nil {
		return nil, err
	}
	ix.Names = make([]string, len(lengths))
	all := unsafe.String(unsafe.SliceData(text), len(text))
	for i, n := range lengths {
		if uint64(n) > uint64(len(all)) {
			return nil, ErrEncoding
		}
		ix.Names[i], all = all[:n], all[n:]
	}
	smallBytes, err := take()
	if err != nil {
		return nil, err
	}
	var p smallParts
	if err := gob.NewDecoder(bytes.NewReader(smallBytes)).Decode(&p); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrEncoding, err)
	}
	ix.Meta, ix.Threads, ix.Warnings, ix.Locations, ix.Collectives, ix.CallLines = p.Meta, p.Threads, p.Warnings, p.Locations, p.Collectives, p.CallLines
	ix.HostThreads, ix.TrainingThread, ix.cutDurNs, ix.callKinds = p.HostThreads, p.TrainingThread, p.CutDurNs, p.CallKinds
	ix.longestGPUNs, ix.rows = p.LongestGPUNs, p.Rows
	if ix.Steps, err = stepsOf(steps, p.StepSources); err != nil {
		return nil, err
	}
	ix.ForwardOf = make(map[EventID]EventID, len(forward)/2)
	for i := 0; i+1 < len(forward); i += 2 {
		ix.ForwardOf[forward[i]] = forward[i+1]
	}
	return ix, nil
}
