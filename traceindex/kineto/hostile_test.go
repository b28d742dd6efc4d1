package kineto

import (
	"context"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"stepline/traceindex"
)

// Texts made to be slow: however long, no byte of them is looked at more than some dozen times.
func TestHostileTexts(t *testing.T) {
	repeat := func(s string, bytes int) string { return strings.Repeat(s, bytes/len(s)) }
	event := eventText(1)
	for name, text := range map[string]func(n int) string{
		"objects in objects":   func(n int) string { return `{"traceEvents":[` + repeat(`{"a":`, n) },
		"events in events":     func(n int) string { return `{"traceEvents":[` + repeat(`{"ph":"X","name":"n","args":`, n) },
		"lists in lists":       func(n int) string { return `{"traceEvents":[{"ph":"X","args":` + repeat(`[`, n) },
		"a string without end": func(n int) string { return `{"traceEvents":[{"ph":"X","name":"` + repeat(`x`, n) },
		"quotes":               func(n int) string { return `{"traceEvents":[` + repeat(`"`, n) },
		"backslashes":          func(n int) string { return `{"traceEvents":[{"name":"` + repeat(`\`, n) },
		"backslash and quote":  func(n int) string { return `{"traceEvents":[{"name":"` + repeat(`\"`, n) },
		"raw paths":            func(n int) string { return `{"traceEvents":[` + repeat(`{"ph":"X","name":"C:\w\",`, n) },
		"whole objects in objects": func(n int) string {
			return `{"traceEvents":[` + repeat(`{"a":`, n/2) + "1" + repeat(`}`, n/6) + "]}"
		},
		"whole objects in objects, behind damage": func(n int) string {
			return `{"traceEvents":[x` + repeat(`{"a":`, n/2) + "1" + repeat(`}`, n/6) + "]}"
		},
		"a whole event of objects in objects": func(n int) string {
			k := n / 6
			return `{"traceEvents":[{"ph":"X","args":` + strings.Repeat(`{"a":`, k) + "1" + strings.Repeat(`}`, k) + "}]}"
		},
		"whole objects behind damage": func(n int) string {
			k := n / 6
			return `{"traceEvents":[x` + strings.Repeat(`{"a":`, k) + "1" + strings.Repeat(`}`, k) + "]}"
		},
		"nothing but values": func(n int) string { return `{"traceEvents":[` + repeat(`null,[1],`, n) },
		"open brackets":      func(n int) string { return repeat(`{`, n) },
		"keys without end":   func(n int) string { return `{` + repeat(`"a":1,`, n) },
		"one immense event": func(n int) string {
			return `{"traceEvents":[{"ph":"X","name":"n","ts":1,"dur":1,"args":{"x":[` + repeat(`1,`, n) + `1]}}]}`
		},
		"events without commas": func(n int) string { return `{"traceEvents":[` + repeat(event, n) },
		"ends of lists":         func(n int) string { return `{"traceEvents":[` + event + repeat(`],[`, n) },
		"a key without end":     func(n int) string { return `{"` + repeat(`k`, n) },
		"a large wanted value":  func(n int) string { return `{"deviceProperties":"` + repeat(`k`, 20<<20) + `","traceEvents":[]}` },
		"zeros":                 func(n int) string { return `{"traceEvents":[` + repeat("\x00", n) },
	} {
		for _, n := range []int{1 << 20, 3 << 20} {
			data := text(n)
			w := newWindow(context.Background(), strings.NewReader(data), blockBytes)
			d := newDocument(w, "trace")
			err := d.read()
			w.close()
			if shares := d.looked / int64(len(data)); shares > 60 {
				t.Errorf("%s: of %d bytes each was looked at %d times", name, len(data), shares)
			}
			if err == nil && d.p.b.Len() > 0 && !strings.Contains(data, event) && name != "one immense event" && name != "raw paths" {
				t.Errorf("%s: %d events", name, d.p.b.Len())
			}
		}
	}
}

// TestEventsBeyondTheLimit: an event of gigabytes is dropped and told; the others are read, in memory that its size has no part
// in.
func TestEventsBeyondTheLimit(t *testing.T) {
	piece := strings.Repeat("1,", 1<<19)
	taken := func(mebibytes int) uint64 {
		parts := []io.Reader{strings.NewReader(`{"traceEvents":[` + eventText(1) + `,{"ph":"X","name":"huge","ts":1,"dur":1,"args":{"x":[`)}
		for range mebibytes {
			parts = append(parts, strings.NewReader(piece))
		}
		parts = append(parts, strings.NewReader(`1]}},`+eventText(2)+`]}`))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		builder, err := Read(context.Background(), io.MultiReader(parts...), "trace")
		runtime.ReadMemStats(&after)
		if err != nil {
			t.Fatal(err)
		}
		ix, err := builder.Build(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if names := namesOf(ix); !slices.Equal(names, []string{"aten::op1", "aten::op2"}) {
			t.Errorf("%d MiB: read %v", mebibytes, names)
		}
		if i := slices.IndexFunc(ix.Warnings, func(w traceindex.Warning) bool { return w.Code == "event-too-large" }); i < 0 ||
			!strings.Contains(ix.Warnings[i].Message, "1 event of more than 64 MiB of text, dropped, first at line 1 (byte 136)") {
			t.Errorf("%d MiB: warns %+v", mebibytes, ix.Warnings)
		}
		return after.TotalAlloc - before.TotalAlloc
	}
	if less, more := taken(maxPieceBytes>>20+8), taken(4*maxPieceBytes>>20); more > less+16<<20 {
		t.Errorf("%d bytes are allocated for a large event, %d for one four times as large", less, more)
	}
}
