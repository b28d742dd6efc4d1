package kineto

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"stepline/traceindex"
)

// pieces is a reader that returns a few bytes at a time.
type pieces struct {
	data []byte
	size int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.data) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), p.size)], p.data)
	p.data = p.data[n:]
	return n, nil
}

// readAll reads a trace by blocks of the given size, from a reader of small pieces, and builds it.
func readAll(data []byte, block, piece int) (*traceindex.Index, error) {
	return readForked(data, block, piece, math.MaxInt)
}

// readForked does it with two parsers from so many bytes on.
func readForked(data []byte, block, piece, fork int) (*traceindex.Index, error) {
	b, err := read(context.Background(), &pieces{data, piece}, "trace", block, fork)
	if err != nil {
		return nil, err
	}
	return b.Build(context.Background())
}

// describe is an index as text: everything a reader decides.
func describe(ix *traceindex.Index) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%+v\n", ix.Meta)
	for row := range traceindex.EventID(ix.Events.Len()) {
		e := &ix.Events
		t := ix.Threads[e.Thread[row]]
		fmt.Fprintf(&out, "%d %d %q cat %d on %s/%s %d", e.StartNs[row], e.DurNs[row], ix.Name(row), e.Category[row], t.PID, t.TID, e.Link[row])
		if d, ok := ix.OpDetailOf(row); ok {
			fmt.Fprintf(&out, " op %d %d %q %q %q", d.Sequence, d.ForwardThread, ix.Names[d.Dims], ix.Names[d.Types], ix.Names[d.CallStack])
		}
		if d, ok := ix.PythonDetailOf(row); ok {
			fmt.Fprintf(&out, " python %d %d", d.ParentID, d.ModuleID)
		}
		if d, ok := ix.GPUDetailOf(row); ok {
			c, _ := ix.CollectiveOf(row)
			d.Collective = 0 // a row's number means nothing
			fmt.Fprintf(&out, " gpu %+v %+v", d, c)
		}
		fmt.Fprintf(&out, " parent %d end %d\n", ix.Parent[row], ix.EndNs(row))
	}
	for _, w := range ix.Warnings {
		fmt.Fprintf(&out, "%s %s\n", w.Code, w.Message)
	}
	return out.String()
}

// event is what the reference below takes of one event.
type event struct {
	Name          string
	StartNs, Dur  int64
	Link          string
	Category, PID string
}

// reference reads a valid trace with jsontext, token by token: the X events that have a number for a time.
func reference(data []byte) (events []event, ok bool) {
	var top map[string]jsontext.Value
	dec := jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(false))
	v, err := dec.ReadValue()
	if err != nil {
		return nil, false
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, false
	}
	top, ok = members(v)
	if !ok {
		return nil, false
	}
	list := jsontext.NewDecoder(bytes.NewReader(top["traceEvents"]), jsontext.AllowDuplicateNames(true))
	if t, err := list.ReadToken(); err != nil || t.Kind() != '[' {
		return nil, false
	}
	for list.PeekKind() != ']' {
		v, err := list.ReadValue()
		if err != nil {
			return nil, false
		}
		m, ok := members(v)
		if !ok {
			return nil, false // an element that is no event: the reader counts it as damage
		}
		e, ok, sound := eventOf(m)
		if !sound {
			return nil, false
		}
		if ok {
			events = append(events, e)
		}
	}
	return events, true
}

// members splits an object; keys that occur twice make it unfit for comparison.
func members(v jsontext.Value) (map[string]jsontext.Value, bool) {
	dec := jsontext.NewDecoder(bytes.NewReader(v))
	if t, err := dec.ReadToken(); err != nil || t.Kind() != '{' {
		return nil, false
	}
	out := map[string]jsontext.Value{}
	for dec.PeekKind() != '}' {
		k, err := dec.ReadToken()
		if err != nil {
			return nil, false
		}
		name := k.String()
		v, err := dec.ReadValue()
		if err != nil {
			return nil, false
		}
		out[name] = v.Clone()
	}
	return out, true
}

func text(v jsontext.Value) (string, bool) {
	if v.Kind() != '"' {
		return "", false
	}
	s, err := jsontext.AppendUnquote(nil, v)
	return string(s), err == nil
}

func nanoseconds(v jsontext.Value) (int64, bool) {
	if v.Kind() != '0' || len(v) > 60 || strings.ContainsAny(string(v), "eE") {
		return 0, false
	}
	r, ok := new(big.Rat).SetString(string(v))
	if !ok {
		return 0, false
	}
	r.Mul(r, big.NewRat(1000, 1))
	r.Add(r, big.NewRat(int64(r.Sign()), 2))
	n := new(big.Int).Quo(r.Num(), r.Denom())
	limit := new(big.Int).Lsh(big.NewInt(1), 60)
	return n.Int64(), n.CmpAbs(limit) < 0
}

// eventOf takes one event; sound is false where it has forms that only the tolerant reader takes.
func eventOf(m map[string]jsontext.Value) (e event, ok, sound bool) {
	for k := range m {
		if strings.ContainsAny(k, `"\`) {
			return e, false, false
		}
	}
	phase, isText := text(m["ph"])
	if !isText || phase != "X" {
		return e, false, isText && (phase == "M" || phase == "s" || phase == "f")
	}
	var good bool
	if e.StartNs, good = nanoseconds(m["ts"]); !good {
		return e, false, false
	}
	if e.Dur, good = nanoseconds(m["dur"]); !good || e.Dur < 0 {
		return e, false, false
	}
	if e.Name, good = text(m["name"]); !good {
		return e, false, false
	}
	if e.Category, good = text(m["cat"]); !good {
		return e, false, false
	}
	if _, known := kindOf(e.Category); !known {
		return e, false, false
	}
	if strings.ContainsAny(string(m["name"]), "\\\x7f") || strings.ContainsAny(string(m["cat"]), `\`) || strings.HasPrefix(e.Name, "[") {
		return e, false, false // escapes have their own rules and tests
	}
	switch m["pid"].Kind() {
	case '0':
		e.PID = string(m["pid"])
	default:
		return e, false, false
	}
	return e, true, true
}

// seeds are the cases' inputs and a piece of a real trace.
func seeds(f *testing.F) [][]byte {
	files, err := filepath.Glob("../../testdata/cases/*/*.json")
	if err != nil {
		f.Fatal(err)
	}
	var out [][]byte
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		if len(data) < 8000 {
			out = append(out, data)
		}
	}
	slices.SortFunc(out, func(a, b []byte) int { return len(a) - len(b) })
	return out
}

// FuzzRead reads any bytes: however they are cut into blocks and pieces, the result is the same; where jsontext takes the
// document, its events are those that jsontext finds.
func FuzzRead(f *testing.F) {
	for i, data := range seeds(f) {
		f.Add(data, uint16(1+7*i), uint16(1+3*i))
	}
	f.Fuzz(func(t *testing.T, data []byte, block, piece uint16) {
		whole, err := readAll(data, blockBytes, 1<<20)
		cut, errCut := readAll(data, 1+int(block), 1+int(piece))
		if (err == nil) != (errCut == nil) || err != nil && err.Error() != errCut.Error() {
			t.Fatalf("whole: %v; in blocks of %d: %v", err, 1+int(block), errCut)
		}
		if err != nil {
			return
		}
		if d := cmp.Diff(describe(whole), describe(cut)); d != "" {
			t.Fatalf("in blocks of %d (−whole +cut)\n%s", 1+int(block), d)
		}
		for _, block := range []int{blockBytes, 1 + int(block)} {
			forked, err := readForked(data, block, 1<<20, 1)
			if err != nil {
				t.Fatalf("forked, in blocks of %d: %v", block, err)
			}
			if d := cmp.Diff(describe(whole), describe(forked)); d != "" {
				t.Fatalf("forked, in blocks of %d (−whole +forked)\n%s", block, d)
			}
		}
		want, ok := reference(data)
		if !ok {
			return
		}
		var got []event
		for row := range traceindex.EventID(whole.Events.Len()) {
			if c := whole.Events.Category[row]; c != traceindex.CategoryMemory {
				got = append(got, event{Name: whole.Name(row), StartNs: whole.Events.StartNs[row], Dur: whole.Events.DurNs[row], PID: whole.Threads[whole.Events.Thread[row]].PID})
			}
		}
		for i := range want {
			want[i].Category, want[i].Name = "", visible(want[i].Name)
		}
		order := func(x, y event) int { return strings.Compare(fmt.Sprint(x), fmt.Sprint(y)) }
		slices.SortFunc(want, order)
		slices.SortFunc(got, order)
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("(−jsontext +stepline)\n%s", d)
		}
	})
}

// FuzzValue holds the lexer against jsontext: a value that jsontext takes ends where the lexer says, and a string has the
// same text.
func FuzzValue(f *testing.F) {
	for _, s := range []string{`"a\\"`, `"\""`, `[1,[2,"]"],{"a":"}"}]`, `-1.5e3`, `null`, `"\u00e9\ud83d\ude00"`, `{"a":{"b":[]}}`, `""`, `"a\/b"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		dec := jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowDuplicateNames(true))
		v, err := dec.ReadValue()
		if err != nil {
			return
		}
		start := bytes.Index(data, v)
		if rest := data[start+len(v):]; len(rest) > 0 && !strings.ContainsRune(",:]} \t\n\r", rune(rest[0])) {
			return // a value stops there for jsontext only
		}
		padded := append(append([]byte(nil), data...), ' ')
		padded = append(padded, make([]byte, padBytes)...)
		if end := valueEnd(padded, start); end != start+len(v) {
			t.Fatalf("%q ends at %d, want %d", data, end, start+len(v))
		}
		if s, ok := text(v); ok {
			raw := string(v[1 : len(v)-1])
			if looksLikeRawPath(raw) {
				return
			}
			if got := decode(raw, false); got != visible(s) {
				t.Fatalf("%s decodes to %q, want %q", v, got, visible(s))
			}
			if trouble, _ := inspect([]byte(raw)); trouble&(badEscape|badUTF8) != 0 {
				t.Fatalf("%s is sound, but %d", v, trouble)
			}
		}
	})
}

func TestTimeAgainstRationals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`-?(0|[1-9][0-9]{0,15})(\.[0-9]{1,12})?`).Draw(t, "text")
		want, ok := nanoseconds(jsontext.Value(text))
		if !ok {
			return
		}
		b := append([]byte(text+","), make([]byte, padBytes)...)
		got, end := timeNs(b, 0)
		if end != len(text) || got != want {
			t.Fatalf("%s: %d ns up to %d, want %d up to %d", text, got, end, want, len(text))
		}
		quoted := append([]byte(`"`+text+`",`), make([]byte, padBytes)...)
		if got, end := timeNs(quoted, 0); end != len(text)+2 || got != want {
			t.Fatalf("quoted %s: %d ns up to %d", text, got, end)
		}
		// Cut anywhere, it asks for more and never claims a number that is not all there.
		at := rapid.IntRange(0, len(text)).Draw(t, "cut")
		if _, end := timeNs(append([]byte(text[:at]), make([]byte, padBytes)...), 0); end != -1 {
			t.Fatalf("%q cut: %d", text[:at], end)
		}
	})
}

func TestTimeForms(t *testing.T) {
	for text, want := range map[string]int64{"1": 1000, "1.5": 1500, "0.0004": 0, "0.0005": 1, "-2.25": -2250, "1e3": 1000000, "1.2345E2": 123450,
		"1712345678901234.125": 1712345678901234125, "5129456691668.466": 5129456691668466, "00012": 12000, "1.9999999999": 2000} {
		if got, end := timeNs(append([]byte(text+"}"), make([]byte, padBytes)...), 0); got != want || end != len(text) {
			t.Errorf("%s: %d ns up to %d, want %d", text, got, end, want)
		}
	}
	for _, text := range []string{"null", "nan", "inf", "-", "1e400", "1e99999999999", "99999999999999999999", "[]", `"x"`, `""""`, "1.2.3", "0x10", "1_0"} {
		if got, end := timeNs(append([]byte(text+"}"), make([]byte, padBytes)...), 0); end != -2 {
			t.Errorf("%s: %d ns up to %d, want none", text, got, end)
		}
	}
}
