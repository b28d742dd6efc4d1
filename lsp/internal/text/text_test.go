package text

import (
	"os"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestPositionsOfCase90(t *testing.T) {
	code, err := os.ReadFile("../../../testdata/cases/90-lsp-utf16/code.py")
	if err != nil {
		t.Fatal(err)
	}
	text := New(string(code))
	start := strings.Index(text.String(), "torch.load")
	end := start + len("torch.load(p)")
	for enc, want := range map[Encoding]Range{
		UTF16: {Position{2, 24}, Position{2, 37}},
		UTF8:  {Position{2, 31}, Position{2, 44}},
		UTF32: {Position{2, 23}, Position{2, 36}},
	} {
		got := text.Range(start, end, enc)
		if got != want {
			t.Errorf("encoding %d: got %v, want %v", enc, got, want)
		}
		if s, e := text.Offset(want.Start, enc), text.Offset(want.End, enc); s != start || e != end {
			t.Errorf("encoding %d: offsets %d..%d, want %d..%d", enc, s, e, start, end)
		}
	}
}

func TestOffsetClamps(t *testing.T) {
	text := New("ab\r\n🙂c\rd\n")
	tests := []struct {
		p    Position
		enc  Encoding
		want int
	}{
		{Position{0, 99}, UTF16, 2}, {Position{0, 1<<32 - 1}, UTF8, 2}, {Position{1, 1}, UTF16, 4}, {Position{1, 2}, UTF16, 8},
		{Position{1, 2}, UTF8, 4}, {Position{1, 1}, UTF32, 8}, {Position{1, 99}, UTF32, 9}, {Position{2, 0}, UTF16, 10},
		{Position{3, 0}, UTF16, 12}, {Position{3, 5}, UTF16, 12}, {Position{1<<32 - 1, 0}, UTF16, 12},
	}
	for _, test := range tests {
		if got := text.Offset(test.p, test.enc); got != test.want {
			t.Errorf("%v in encoding %d: got %d, want %d", test.p, test.enc, got, test.want)
		}
	}
}

// alphabet has everything lines and encodings can trip over.
var alphabet = rapid.StringOfN(rapid.SampledFrom([]rune{'a', 'b', ' ', '\n', '\r', 'é', '模', '🙂', '\ufeff', '\u2028'}), 0, 12, -1)

func TestReplaceEqualsNew(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := New(alphabet.Draw(t, "text"))
		for range rapid.IntRange(1, 8).Draw(t, "edits") {
			a, b := rapid.IntRange(0, text.Len()).Draw(t, "a"), rapid.IntRange(0, text.Len()).Draw(t, "b")
			if a > b {
				a, b = b, a
			}
			insert := alphabet.Draw(t, "new")
			want := text.String()[:a] + insert + text.String()[b:]
			text = text.Replace(Edit{a, b, insert})
			if text.String() != want {
				t.Fatalf("text %q, want %q", text.String(), want)
			}
			if d := cmp.Diff(New(want).starts, text.starts); d != "" {
				t.Fatalf("line starts of %q (-want +got)\n%s", want, d)
			}
		}
	})
}

func TestPositionsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := New(alphabet.Draw(t, "text"))
		for offset := range text.Len() + 1 {
			if offset < text.Len() && !utf8.RuneStart(text.String()[offset]) {
				continue
			}
			line := text.LineOf(offset)
			if offset > text.LineEnd(line) {
				continue // between \r and \n
			}
			before := text.String()[text.LineStart(line):offset]
			for enc, units := range map[Encoding]int{UTF8: len(before), UTF16: len(utf16.Encode([]rune(before))), UTF32: len([]rune(before))} {
				p := text.Position(offset, enc)
				if p != (Position{uint32(line), uint32(units)}) {
					t.Fatalf("%q offset %d encoding %d: %v, want line %d character %d", text.String(), offset, enc, p, line, units)
				}
				if back := text.Offset(p, enc); back != offset {
					t.Fatalf("%q offset %d encoding %d: %v maps back to %d", text.String(), offset, enc, p, back)
				}
			}
		}
	})
}

// TestPositionNearIsPosition, wherever it looks first.
func TestPositionNearIsPosition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := New(alphabet.Draw(t, "text"))
		enc := rapid.SampledFrom([]Encoding{UTF8, UTF16, UTF32}).Draw(t, "encoding")
		near := rapid.IntRange(-1, text.LineCount()+1).Draw(t, "near")
		offset := rapid.IntRange(-1, text.Len()+1).Draw(t, "offset")
		want := text.Position(offset, enc)
		if got, line := text.PositionNear(near, offset, enc); got != want || line != int(want.Line) {
			t.Fatalf("%q offset %d near %d: %v in line %d, want %v", text.String(), offset, near, got, line, want)
		}
	})
}

// TestEditsInsideSurrogatePairsKeepCount edits as a JavaScript client does, in an array of UTF-16 units.
func TestEditsInsideSurrogatePairsKeepCount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringOfN(rapid.SampledFrom([]rune{'a', '模', '🙂'}), 0, 8, -1).Draw(t, "text")
		client := utf16.Encode([]rune(s))
		text := New(s)
		for range rapid.IntRange(1, 6).Draw(t, "edits") {
			a, b := rapid.IntRange(0, len(client)).Draw(t, "a"), rapid.IntRange(0, len(client)).Draw(t, "b")
			if a > b {
				a, b = b, a
			}
			insert := rapid.SampledFrom([]string{"", "x", "🙂"}).Draw(t, "new")
			text = text.Replace(text.EditOf(Range{Position{0, uint32(a)}, Position{0, uint32(b)}}, insert, UTF16))
			client = append(append(append([]uint16{}, client[:a]...), utf16.Encode([]rune(insert))...), client[b:]...)
			if got := units(text.String(), UTF16); int(got) != len(client) {
				t.Fatalf("%q has %d units, the client %d", text.String(), got, len(client))
			}
		}
	})
}
