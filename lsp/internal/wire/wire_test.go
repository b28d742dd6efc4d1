package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.lsp.dev/jsonrpc2"
	"go.uber.org/zap"
)

func frameOf(body string) string { return string(AppendFrame(nil, []byte(body))) }

func TestFrameReader(t *testing.T) {
	a, b := `{"jsonrpc":"2.0","method":"a"}`, `{"jsonrpc":"2.0","method":"b"}`
	bad := "ERROR"
	tests := []struct {
		name, in string
		want     []string
	}{
		{"two messages", frameOf(a) + frameOf(b), []string{a, b}},
		{"bare newlines, other headers, lower case", "content-type: x\ncontent-length: 30\n\n" + a + "\r\n\r\n" + frameOf(b), []string{a, b}},
		{"not JSON", frameOf("{oops") + frameOf(b), []string{bad, b}},
		{"length too short", "Content-Length: 20\r\n\r\n" + a + frameOf(b), []string{bad, b}},
		{"length too long", "Content-Length: 40\r\n\r\n" + a + frameOf(b), []string{a, b}},
		{"length much too long", "Content-Length: 70\r\n\r\n" + a + frameOf(b) + frameOf(a), []string{a, b, a}},
		{"length beyond what ever comes", "Content-Length: 4000\r\n\r\n" + a + frameOf(b), []string{a, b}},
		{"cut body, length beyond what ever comes", "Content-Length: 4000\r\n\r\n" + a[:9] + frameOf(b), []string{bad, b}},
		{"length over the limit", "Content-Length: 99999999999999999999\r\n\r\n" + a + frameOf(b), []string{bad, b}},
		{"negative length", "Content-Length: -1\r\n\r\n" + frameOf(b), []string{bad, b}},
		{"zero length", "Content-Length: 0\r\n\r\n" + frameOf(b), []string{bad, b}},
		{"length in words", "Content-Length: many\r\n\r\n" + frameOf(b), []string{bad, b}},
		{"no length", "X: y\r\n\r\n" + frameOf(b), []string{bad, b}},
		{"garbage before", "hello\x00\xff there" + frameOf(b), []string{bad, b}},
		{"long garbage before", strings.Repeat("x", 100_000) + frameOf(b), []string{bad, b}},
		{"depth", frameOf(strings.Repeat("[", 200_000)) + frameOf(b), []string{bad, b}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, in := range []io.Reader{strings.NewReader(test.in), iotest.OneByteReader(strings.NewReader(test.in))} {
				r := NewFrameReader(in)
				var got []string
				for {
					body, err := r.Read()
					var f *FrameError
					if errors.As(err, &f) {
						got = append(got, bad)
						continue
					}
					if err != nil {
						if !errors.Is(err, io.EOF) {
							t.Errorf("ended with %v", err)
						}
						break
					}
					got = append(got, string(body))
				}
				if d := cmp.Diff(test.want, got); d != "" {
					t.Errorf("(-want +got)\n%s", d)
				}
			}
		})
	}
}

func FuzzFrameReader(f *testing.F) {
	f.Add([]byte(frameOf(`{"a":1}` + "Content-Length: 3\r\n\r\n")))
	f.Add([]byte("Content-Length: 9\r\n\r\n{}Content-Length: 2\r\n\r\n[]"))
	f.Fuzz(func(t *testing.T, in []byte) {
		r := NewFrameReader(bytes.NewReader(in))
		for range len(in) + 2 {
			body, err := r.Read()
			var bad *FrameError
			if err != nil && !errors.As(err, &bad) {
				return
			}
			if err == nil && !json.Valid(body) && len(body) < 1000 {
				// jsontext allows what encoding/json allows, except for its depth limit.
				t.Fatalf("delivered a body that is no JSON: %q", body)
			}
		}
		t.Fatalf("more messages than bytes in %q", in)
	})
}

// script is a handler whose methods are told by their names.
type script struct {
	log     []string
	release chan struct{}
}

func (s *script) Notification(_ context.Context, method string, params []byte) error {
	s.log = append(s.log, method+string(params))
	switch method {
	case "fail":
		return errors.New("no")
	case "panic":
		panic("note")
	case "exit":
		return Stop()
	}
	return nil
}

func (s *script) Request(_ context.Context, method string, params []byte) (Reply, error) {
	seen := len(s.log)
	switch method {
	case "now":
		return Reply{Value: seen}, nil
	case "panicEarly":
		panic("early")
	case "refuse":
		return Reply{}, errors.New("refused")
	}
	return Reply{Long: method == "wait", Work: func(ctx context.Context) (any, error) {
		switch method {
		case "panic":
			panic("late")
		case "wait":
			<-ctx.Done()
			return nil, fmt.Errorf("waiting: %w", ctx.Err())
		case "release":
			<-s.release
		case "unencodable":
			return make(chan int), nil
		}
		return seen, nil
	}}, nil
}

// start runs a connection over pipes inside a synctest bubble.
func start(t *testing.T, s *script) (in io.WriteCloser, answers func() []string, end func() error) {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	conn := NewConn(inR, outW, encodeJSON, zap.NewNop())
	ended := make(chan error, 1)
	go func() {
		err := conn.Run(context.Background(), s)
		_ = inR.Close()
		_ = outW.Close()
		ended <- err
	}()
	var got []string
	go func() {
		r := NewFrameReader(outR)
		for {
			body, err := r.Read()
			if err != nil {
				return
			}
			got = append(got, string(body))
		}
	}()
	return inW, func() []string { synctest.Wait(); g := got; got = nil; return g }, func() error { _ = inW.Close(); return <-ended }
}

func TestConnAnswersAsTheProtocolSays(t *testing.T) {
	tests := []struct {
		name string
		in   []string
		want []string
	}{
		{"failing and panicking notifications leave the session alive",
			[]string{`{"method":"fail"}`, `{"method":"panic"}`, `{"method":"$/unknown"}`, `{"id":1,"method":"now"}`},
			[]string{`{"jsonrpc":"2.0","id":1,"result":3}`}},
		{"panics of requests", []string{`{"id":1,"method":"panic"}`, `{"id":2,"method":"panicEarly"}`},
			[]string{`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"panic failed inside stepline: late"}}`,
				`{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"panicEarly failed inside stepline: early"}}`}},
		{"a result that cannot be encoded", []string{`{"id":1,"method":"unencodable"}`},
			[]string{`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"json: unsupported type: chan int"}}`}},
		{"ids as strings, beyond 2^53, fractional", []string{`{"id":"a\"b","method":"now"}`, `{"id":123456789012345678901234567890,"method":"now"}`, `{"id":1.5,"method":"now"}`},
			[]string{`{"jsonrpc":"2.0","id":"a\"b","result":0}`, `{"jsonrpc":"2.0","id":123456789012345678901234567890,"result":0}`, `{"jsonrpc":"2.0","id":1.5,"result":0}`}},
		{"bad ids and methods", []string{`{"id":null,"method":"now"}`, `{"id":{},"method":"now"}`, `{"id":7}`, `{"id":8,"method":3}`, `{}`, `3`},
			[]string{
				`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a request needs a method (a string) and an id that is a string or a number"}}`,
				`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a request needs a method (a string) and an id that is a string or a number"}}`,
				`{"jsonrpc":"2.0","id":7,"error":{"code":-32600,"message":"a request needs a method (a string) and an id that is a string or a number"}}`,
				`{"jsonrpc":"2.0","id":8,"error":{"code":-32600,"message":"a request needs a method (a string) and an id that is a string or a number"}}`,
				`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a request needs a method (a string) and an id that is a string or a number"}}`,
				`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a message must be an object"}}`}},
		{"a batch is answered by one array", []string{`[{"id":1,"method":"now"},{"method":"n"},3,{"id":2,"method":"now"}]`},
			[]string{`[{"jsonrpc":"2.0","id":1,"result":0},{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a message must be an object"}},{"jsonrpc":"2.0","id":2,"result":1}]`}},
		{"a batch that ends the session is answered", []string{`[{"id":1,"method":"now"},{"method":"exit"},{"id":2,"method":"now"}]`},
			[]string{`[{"jsonrpc":"2.0","id":1,"result":0}]`}},
		{"a batch of notifications is not answered", []string{`[{"method":"n"},{"method":"n"}]`, `[]`},
			[]string{`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"an empty batch"}}`}},
		{"answers nobody waits for", []string{`{"id":99,"result":1}`, `{"id":"x","error":{"code":1,"message":"m"}}`, `{"id":1,"method":"now"}`},
			[]string{`{"jsonrpc":"2.0","id":1,"result":0}`}},
		{"cancel", []string{`{"id":"w","method":"wait"}`, `{"method":"$/cancelRequest","params":{"id":"w"}}`, `{"method":"$/cancelRequest","params":null}`, `{"method":"$/cancelRequest","params":{"id":[]}}`},
			[]string{`{"jsonrpc":"2.0","id":"w","error":{"code":-32800,"message":"cancelled"}}`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in, answers, end := start(t, &script{})
				var got []string
				for _, m := range test.in {
					if _, err := io.WriteString(in, frameOf(m)); err != nil {
						t.Fatal(err)
					}
					got = append(got, answers()...)
				}
				if d := cmp.Diff(test.want, got); d != "" {
					t.Errorf("(-want +got)\n%s", d)
				}
				if err := end(); err != nil {
					t.Errorf("ended with %v", err)
				}
			})
		})
	}
}

func TestRequestsSeeTheNotificationsBeforeThemAndRunBeside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{release: make(chan struct{})}
		in, answers, end := start(t, s)
		for _, m := range []string{`{"method":"a","params":1}`, `{"id":1,"method":"release"}`, `{"method":"b"}`, `{"id":2,"method":"later"}`} {
			if _, err := io.WriteString(in, frameOf(m)); err != nil {
				t.Fatal(err)
			}
		}
		if d := cmp.Diff([]string{`{"jsonrpc":"2.0","id":2,"result":2}`}, answers()); d != "" {
			t.Errorf("while the first waits (-want +got)\n%s", d)
		}
		close(s.release)
		if d := cmp.Diff([]string{`{"jsonrpc":"2.0","id":1,"result":1}`}, answers()); d != "" {
			t.Errorf("its snapshot must not hold what came after it (-want +got)\n%s", d)
		}
		if err := end(); err != nil {
			t.Error(err)
		}
	})
}

func TestStopEndsAtOnceWithWorkRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, answers, end := start(t, &script{})
		_, _ = io.WriteString(in, frameOf(`{"id":1,"method":"wait"}`)+frameOf(`{"method":"exit"}`))
		if got := answers(); len(got) != 1 || !strings.Contains(got[0], "-32800") {
			t.Errorf("answers %q", got)
		}
		if err := end(); err != nil {
			t.Error(err)
		}
	})
}

// TestTheEndWaitsForShortWorkOnly: what was asked before the end of the input is answered where that takes no time.
func TestTheEndWaitsForShortWorkOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{release: make(chan struct{})}
		in, answers, end := start(t, s)
		_, _ = io.WriteString(in, frameOf(`{"id":1,"method":"release"}`))
		time.AfterFunc(graceTime/2, func() { close(s.release) })
		if err := end(); err != nil {
			t.Error(err)
		}
		if d := cmp.Diff([]string{`{"jsonrpc":"2.0","id":1,"result":0}`}, answers()); d != "" {
			t.Errorf("(-want +got)\n%s", d)
		}
	})
}

// TestTheEndLeavesWorkBehind that heeds no context.
func TestTheEndLeavesWorkBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{release: make(chan struct{})}
		in, _, end := start(t, s)
		_, _ = io.WriteString(in, frameOf(`{"id":1,"method":"release"}`)+frameOf(`{"method":"exit"}`))
		began := time.Now()
		if err := end(); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > graceTime+workTime {
			t.Errorf("the end took %v", took)
		}
		close(s.release)
	})
}

func TestAnErrorsMessageIsBounded(t *testing.T) {
	body := errorBody("1", jsonrpc2.NewError(jsonrpc2.MethodNotFound, "no "+strings.Repeat("é", 1<<20)))
	if len(body) > maxMessage+100 || !json.Valid(body) {
		t.Errorf("%d bytes: %.100s", len(body), body)
	}
}

func TestClientThatDoesNotRead(t *testing.T) {
	w := newWriter(io.Discard, zap.NewNop()) // not running: nothing is taken
	w.soft, w.hard = 64<<10, 96<<10
	big := bytes.Repeat([]byte("x"), 16<<10)
	for i := range 100 {
		w.send(item{body: big, droppable: true, key: fmt.Sprint(i % 3)})
	}
	if got := len(w.byKey); got != 3 || w.bytes != 3*len(big) {
		t.Errorf("%d keys, %d bytes: superseded messages must be replaced", got, w.bytes)
	}
	for i := range 20 {
		w.send(item{body: []byte(fmt.Sprintf(`{"jsonrpc":"2.0","id":"q\"%d","result":"%s"}`, i, big)), answer: true})
	}
	if w.bytes > w.hard {
		t.Errorf("%d bytes are kept", w.bytes)
	}
	last := string(w.queue[len(w.queue)-1].body)
	if want := `{"jsonrpc":"2.0","id":"q\"19","error":{"code":-32803,"message":"the client does not read its answers; this one was left out"}}`; last != want {
		t.Errorf("got %s", last)
	}
}

// TestALaterMessageIsTakenOnceTheClientReads: one that was dropped, although an earlier one had made place for it, leaves nothing.
func TestALaterMessageIsTakenOnceTheClientReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		w := newWriter(&out, zap.NewNop())
		w.soft, w.hard = 100, 200
		w.send(item{body: []byte("first"), droppable: true, key: "k"})
		w.send(item{body: bytes.Repeat([]byte("x"), 90)})
		w.send(item{body: []byte("a second that is too long"), droppable: true, key: "k"})
		go w.run()
		synctest.Wait()
		out.Reset()
		w.send(item{body: []byte("third"), droppable: true, key: "k"})
		w.close()
		if got, want := out.String(), frameOf("third"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestCallIsAnsweredCancelledOrEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inR, inW := io.Pipe()
		conn := NewConn(inR, io.Discard, encodeJSON, zap.NewNop())
		ended := make(chan error)
		go func() { ended <- conn.Run(t.Context(), &script{}) }()
		results := make(chan string, 3)
		call := func(ctx context.Context) {
			r, err := conn.Call(ctx, "ask", nil)
			results <- fmt.Sprint(string(r), err)
		}
		go call(t.Context())
		synctest.Wait()
		_, _ = io.WriteString(inW, frameOf(`{"id":1,"result":{"a":1}}`))
		if got := <-results; got != `{"a":1}<nil>` {
			t.Error(got)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go call(ctx)
		synctest.Wait()
		cancel()
		if got := <-results; got != "context canceled" {
			t.Error(got)
		}
		go call(t.Context())
		synctest.Wait()
		_ = inW.Close()
		if got := <-results; got != ErrClosed.Error() {
			t.Error(got)
		}
		<-ended
	})
}

func encodeJSON(b []byte, v any) ([]byte, error) {
	text, err := json.Marshal(v)
	return append(b, text...), err
}
