package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"go.uber.org/zap"
)

// numbered is a large message that tells all over which one it is.
type numbered struct {
	Number, Size int
	Panics       bool
}

func (n numbered) JSONSize() int { return n.Size }

func encodeNumbered(b []byte, v any) ([]byte, error) {
	n, ok := v.(numbered)
	if !ok {
		return encodeJSON(b, v)
	}
	said := fmt.Appendf(nil, "%07d ", n.Number)
	if n.Panics {
		_ = append(b, bytes.Repeat(said, n.Size/16)...)
		panic("half of it is written")
	}
	b = append(append(b, '"'), bytes.Repeat(said, n.Size/8)...)
	return append(b, '"'), nil
}

// sizes are those of messages whose bytes are used again, and of some around.
var sizes = []int{minSpare / 2, minSpare, 2 * minSpare, 3*minSpare + 1}

// answering is a handler that answers with the number it is asked for.
type answering struct{}

func (answering) Notification(context.Context, string, []byte) error { return nil }

func (answering) Request(_ context.Context, method string, params []byte) (Reply, error) {
	var n int
	if err := json.Unmarshal(params, &n); err != nil {
		return Reply{}, err
	}
	result := numbered{Number: n, Size: sizes[n%len(sizes)], Panics: method == "panic"}
	return Reply{Work: func(context.Context) (any, error) { return result, nil }}, nil
}

// TestMessagesKeepTheirBytes: whatever is sent at the same time, replaced, dropped, cancelled or ends in a panic, each message that
// comes is itself from its begin to its end.
func TestMessagesKeepTheirBytes(t *testing.T) {
	const rounds, senders = 30, 4
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	conn := NewConn(inR, outW, encodeNumbered, zap.NewNop())
	conn.out.soft, conn.out.hard = 1<<20, 2<<20
	ended := make(chan error, 1)
	go func() {
		ended <- conn.Run(context.Background(), answering{})
		_ = outW.Close()
	}()
	var sending sync.WaitGroup
	for sender := range senders {
		sending.Go(func() {
			for i := range rounds {
				n := numbered{Number: sender*rounds + i}
				n.Size = sizes[n.Number%len(sizes)]
				if err := conn.Notify("note", n, fmt.Sprint(i%3)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	sending.Go(func() {
		for i := range rounds {
			_, _ = io.WriteString(inW, frameOf(fmt.Sprintf(`{"id":%d,"method":"ask","params":%d}`, i, i))+
				frameOf(fmt.Sprintf(`{"method":"$/cancelRequest","params":{"id":%d}}`, i-1))+
				frameOf(fmt.Sprintf(`[{"id":"b","method":"ask","params":%d},{"id":"p","method":"panic","params":%d}]`, i, i+1)))
		}
	})
	go func() {
		sending.Wait()
		_ = inW.Close()
	}()
	r := NewFrameReader(outR)
	notes, answers := 0, 0
	for {
		body, err := r.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range membersOf(t, body) {
			if m.Method == "note" {
				notes++
			} else {
				answers++
			}
			of(t, m.Params)
			if n := of(t, m.Result); n >= 0 && m.ID != `"b"` && m.ID != fmt.Sprint(n) {
				t.Fatalf("the answer to %s is that to %d", m.ID, n)
			}
		}
	}
	if err := <-ended; err != nil || notes == 0 || answers < 2*rounds { // of a batch that is left out one error tells
		t.Errorf("%d notifications, %d answers: %v", notes, answers, err)
	}
}

type sent struct {
	ID             string
	Method         string
	Params, Result string
}

func (s *sent) UnmarshalJSON(b []byte) error {
	var m struct {
		ID             json.RawMessage
		Method         string
		Params, Result string
	}
	err := json.Unmarshal(b, &m)
	*s = sent{string(m.ID), m.Method, m.Params, m.Result}
	return err
}

func membersOf(t *testing.T, body []byte) (all []sent) {
	if !bytes.HasPrefix(body, []byte("[")) {
		body = append(append([]byte("["), body...), ']')
	}
	if err := json.Unmarshal(body, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// of is the number that a message repeats, −1 for none.
func of(t *testing.T, said string) int {
	if said == "" {
		return -1
	}
	var n int
	if _, err := fmt.Sscanf(said, "%07d ", &n); err != nil || len(said) != sizes[n%len(sizes)]/8*8 || said != strings.Repeat(said[:8], len(said)/8) {
		t.Fatalf("%d bytes, %.30q: %v", len(said), said, err)
	}
	return n
}
