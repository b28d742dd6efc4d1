package kineto

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"stepline/traceindex"
)

// eventText is a sound event with a number of its own.
func eventText(i int) string {
	return fmt.Sprintf(`{"ph": "X", "cat": "cpu_op", "name": "aten::op%d", "pid": 1, "tid": 1, "ts": %d, "dur": 5, "args": {"External id": %d}}`, i, 1000+10*i, i)
}

func trace(events ...string) string {
	return "{\n\"traceEvents\": [\n" + strings.Join(events, ",\n") + "\n],\n\"distributedInfo\": {\"rank\": 2, \"world_size\": 4}\n}"
}

func namesOf(ix *traceindex.Index) []string {
	var names []string
	for row := range traceindex.EventID(ix.Events.Len()) {
		names = append(names, ix.Name(row))
	}
	slices.Sort(names)
	return names
}

func codes(ix *traceindex.Index) string {
	var all []string
	for _, w := range ix.Warnings {
		all = append(all, w.Code)
	}
	return strings.Join(all, " ")
}

func TestDamage(t *testing.T) {
	five := []string{eventText(0), eventText(1), eventText(2), eventText(3), eventText(4)}
	with := func(i int, s string) string {
		e := slices.Clone(five)
		e[i] = s
		return trace(e...)
	}
	second := five[1]
	tests := []struct {
		name, text string
		want       string // the numbers of the events that must be there
		codes      string
		rank       int
	}{
		{"sound", trace(five...), "01234", "", 2},
		{"byte order mark", "\ufeff" + trace(five...), "01234", "", 2},
		{"event cut in its args", with(1, second[:len(second)-9]), "0234", "damaged-event", 2},
		{"event cut in a string", with(1, second[:40]), "0234", "damaged-event", 2},
		{"event cut in a key", with(1, second[:6]), "0234", "damaged-event", 2},
		{"event without its first bytes", with(1, second[30:]), "0234", "damaged-event", 2},
		{"zeros in place of an event", with(1, strings.Repeat("\x00", 100)), "0234", "damaged-event", 2},
		{"zeros within an event", with(1, second[:50]+strings.Repeat("\x00", 50)+second[60:]), "0234", "damaged-event", 2},
		{"no comma between events", strings.Replace(trace(five...), "},\n{", "}\n{", 1), "01234", "", 2},
		{"two commas", strings.Replace(trace(five...), "},\n{", "},,\n{", 1), "01234", "", 2},
		{"comma before the end", strings.Replace(trace(five...), "}\n]", "},\n]", 1), "01234", "", 2},
		{"a log line between events", with(1, "WARNING: [rank2] something {odd}"), "0234", "damaged-event", 2},
		{"an event within another", with(1, second[:60]+five[2]+second[60:]), "02234", "damaged-event", 2},
		{"numbers as strings", with(1, strings.NewReplacer(`"ts": 1010`, `"ts": "1010"`, `"dur": 5`, `"dur": "5"`).Replace(second)), "01234", "", 2},
		{"no time", with(1, strings.Replace(second, `"ts": 1010, `, "", 1)), "0234", "no-time", 2},
		{"null time", with(1, strings.Replace(second, `"ts": 1010`, `"ts": null`, 1)), "0234", "no-time", 2},
		{"immense time", with(1, strings.Replace(second, `"ts": 1010`, `"ts": 1e300`, 1)), "0234", "no-time", 2},
		{"negative duration", with(1, strings.Replace(second, `"dur": 5`, `"dur": -5`, 1)), "01234", "negative-duration", 2},
		{"no duration", with(1, strings.Replace(second, `, "dur": 5`, "", 1)), "01234", "no-duration", 2},
		{"values that are no events", with(1, `null, 17, "x", [{}], {}`), "0234", "no-phase damaged-event", 2},
		{"a value that is no event at the end", trace(append(slices.Clone(five), "null")...), "01234", "damaged-event", 2},
		{"no phase", with(1, strings.Replace(second, `"ph": "X", `, "", 1)), "0234", "no-phase", 2},
		{"args of another kind", with(1, strings.Replace(second, `{"External id": 1}`, `[1, 2]`, 1)), "01234", "", 2},
		{"null args", with(1, strings.Replace(second, `{"External id": 1}`, `null`, 1)), "01234", "", 2},
		{"nan in args", with(1, strings.Replace(second, `"External id": 1`, `"External id": nan`, 1)), "01234", "not-a-number", 2},
		{"path ending in a raw backslash", with(1, strings.Replace(second, `"External id": 1`, `"file": "C:\work\", "External id": 1`, 1)), "01234", "bad-escape", 2},
		{"cut behind an event", trace(five...)[:strings.Index(trace(five...), eventText(3))], "012", "cut-short", -1},
		{"cut behind the list", trace(five...)[:strings.Index(trace(five...), `"distributedInfo"`)], "01234", "cut-short", -1},
		{"text behind the end", trace(five...) + "\nmore", "01234", "text-behind-end", 2},
		{"two documents", trace(five[:2]...) + trace(five[2:]...), "01", "text-behind-end", 2},
		{"text behind a list", "[" + strings.Join(five, ",") + "]\nmore", "01234", "text-behind-end", -1},
		{"deep nesting", with(1, strings.Replace(second, `"External id": 1`, `"x": `+strings.Repeat("[", 100000)+strings.Repeat("]", 100000), 1)), "01234", "", 2},
		{"deep nesting without end", with(1, strings.Replace(second, `"External id": 1`, `"x": `+strings.Repeat("[", 100000), 1)), "0234", "damaged-event", 2},
	}
	for _, test := range tests {
		for _, setting := range [][2]int{{blockBytes, math.MaxInt}, {1, math.MaxInt}, {37, math.MaxInt}, {blockBytes, 1}, {200, 1}} {
			block, fork := setting[0], setting[1]
			if block == 1 && len(test.text) > 10000 {
				continue
			}
			ix, err := readForked([]byte(test.text), block, 1<<20, fork)
			if err != nil {
				t.Errorf("%s: %v", test.name, err)
				continue
			}
			var want []string
			for _, c := range test.want {
				want = append(want, fmt.Sprintf("aten::op%c", c))
			}
			if got := namesOf(ix); !slices.Equal(got, want) {
				t.Errorf("%s, blocks of %d: events %v, want %v; %v", test.name, block, got, want, ix.Warnings)
			}
			if got := codes(ix); got != test.codes {
				t.Errorf("%s, blocks of %d: warnings %q, want %q", test.name, block, got, test.codes)
			}
			if ix.Meta.Rank != test.rank {
				t.Errorf("%s: rank %d, want %d", test.name, ix.Meta.Rank, test.rank)
			}
		}
	}
}

// Cut anywhere, a trace keeps the events that are whole, and nothing else.
func TestCutAnywhere(t *testing.T) {
	whole := trace(eventText(0), eventText(1), eventText(2))
	begin := strings.Index(whole, "[") + 1
	for at := begin; at < len(whole); at++ {
		ix, err := readAll([]byte(whole[:at]), 64, 7)
		if err != nil {
			t.Fatalf("cut at %d: %v", at, err)
		}
		want := 0
		for i := range 3 {
			if strings.Contains(whole[:at], eventText(i)) {
				want++
			}
		}
		if ix.Events.Len() != want || codes(ix) != "cut-short" {
			t.Fatalf("cut at %d: %d events, warnings %q; want %d", at, ix.Events.Len(), codes(ix), want)
		}
		if b := *ix.Warnings[0].Byte; b != int64(at) {
			t.Fatalf("cut at %d: warned of byte %d", at, b)
		}
	}
}

// endless gives the same event for ever.
type endless struct {
	text []byte
	at   int
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.text[e.at:])
	e.at = (e.at + n) % len(e.text)
	return n, nil
}

func TestCancelEndsReading(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan error, 1)
	started := make(chan struct{})
	source := io.MultiReader(strings.NewReader(`{"traceEvents": [`), &signalling{r: &endless{text: []byte(eventText(1) + ",")}, after: 100, started: started})
	go func() {
		_, err := Read(ctx, source, "trace")
		done <- err
	}()
	<-started
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// A reader that blocks does not hold up the end of ctx.
func TestCancelWhileReaderBlocks(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	r, w := io.Pipe()
	defer w.Close()
	if _, err := Read(ctx, r, "trace"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
}

// signalling tells when a reader has been read a number of times.
type signalling struct {
	r       io.Reader
	after   int
	started chan struct{}
}

func (s *signalling) Read(p []byte) (int, error) {
	if s.after--; s.after == 0 {
		close(s.started)
	}
	return s.r.Read(p)
}
