package lsp

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"time"
	"unicode"

	"go.uber.org/zap"

	"stepline/lsp/internal/wire"
)

// recorded is one line of a recorded session: a message of the client and when it came.
type recorded struct {
	// Ms is milliseconds since the session began.
	Ms      float64         `json:"ms"`
	Message json.RawMessage `json:"message"`
}

// recorder writes down what a client sends, so that a session can be replayed. Without texts the documents' letters and
// digits are written as x and 0: lengths, lines and layout stay, so that positions keep their meaning.
type recorder struct {
	frames *wire.FrameReader
	out    *json.Encoder
	texts  bool
	began  time.Time
	pipe   *io.PipeWriter
}

// recordInput passes in on, writing it down on its way.
func recordInput(in io.Reader, options Options, log *zap.Logger) io.Reader {
	out, pipe := io.Pipe()
	r := &recorder{frames: wire.NewFrameReader(in), out: json.NewEncoder(options.Record), texts: options.RecordTexts, began: time.Now(), pipe: pipe}
	go r.run(log)
	return &recordedInput{out, in}
}

// recordedInput closes both ends.
type recordedInput struct {
	*io.PipeReader
	in io.Reader
}

func (r *recordedInput) Close() error {
	if c, ok := r.in.(io.Closer); ok {
		_ = c.Close()
	}
	return r.PipeReader.Close()
}

func (r *recorder) run(log *zap.Logger) {
	for {
		body, err := r.frames.Read()
		var bad *wire.FrameError
		switch {
		case errors.As(err, &bad):
			// A broken frame goes on as one, so that the server answers it.
			if _, err := io.WriteString(r.pipe, "Content-Length: 1\r\n\r\n?"); err != nil {
				return
			}
			continue
		case err != nil:
			_ = r.pipe.CloseWithError(err)
			return
		}
		message := json.RawMessage(body)
		if !r.texts {
			message = blankTexts(body)
		}
		if err := r.out.Encode(recorded{float64(time.Since(r.began).Microseconds()) / 1e3, message}); err != nil {
			log.Warn("the session can no longer be recorded", zap.Error(err))
			r.out = json.NewEncoder(io.Discard)
		}
		if _, err := r.pipe.Write(wire.AppendFrame(nil, body)); err != nil {
			return
		}
	}
}

// blankTexts replaces the contents of documents in a message, and what quotes them: a diagnostic's message and an action's title
// name expressions, a notebook's metadata is part of its file.
func blankTexts(body []byte) json.RawMessage {
	var value any
	if json.Unmarshal(body, &value) != nil {
		return json.RawMessage(`{}`)
	}
	out, err := json.Marshal(blanked(value, false))
	if err != nil {
		return json.RawMessage(`{}`)
	}
	return out
}

// quoting are the members that hold or quote a document's text.
var quoting = map[string]bool{"text": true, "newText": true, "message": true, "title": true}

// blanked is a value with what quotes in it blanked, or all its strings. It changes the value's maps and lists.
func blanked(value any, all bool) any {
	switch v := value.(type) {
	case string:
		if all {
			return blankText(v)
		}
	case map[string]any:
		for k, e := range v {
			_, isText := e.(string)
			v[k] = blanked(e, all || k == "metadata" || isText && quoting[k])
		}
	case []any:
		for i, e := range v {
			v[i] = blanked(e, all)
		}
	}
	return value
}

func blankText(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r > 0xFFFF:
			return '🙂'
		case r > 0x7F:
			return 'é' // not the same length in bytes for every letter, but the same in UTF-16
		case unicode.IsDigit(r):
			return '0'
		case unicode.IsLetter(r):
			return 'x'
		}
		return r
	}, s)
}
