package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// benchKeystrokes types into a 5,000-line file through the language server and times each keystroke until its diagnostics are
// there. It pulls them: pushed ones come only where they differ from the last.
func benchKeystrokes(stepline, source string, keystrokes int) error {
	folder, err := os.MkdirTemp("", "stepline-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "long.py")
	if err := os.WriteFile(path, []byte(source), 0o644); err != nil {
		return err
	}
	started := time.Now()
	session, err := startSession(stepline)
	if err != nil {
		return err
	}
	defer session.stop()
	folderURI, fileURI := fileURI(folder), fileURI(path)
	err = session.request("initialize", map[string]any{
		"processId": os.Getpid(), "rootUri": folderURI,
		"workspaceFolders": []any{map[string]any{"uri": folderURI, "name": "bench"}},
		"capabilities":     map[string]any{"textDocument": map[string]any{"diagnostic": map[string]any{}}},
	})
	if err != nil {
		return err
	}
	row("start to initialized", "%.1f ms", milliseconds(time.Since(started)))
	session.notify("initialized", map[string]any{})
	session.notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{
		"uri": fileURI, "languageId": "python", "version": 1, "text": source}})
	pull := map[string]any{"textDocument": map[string]any{"uri": fileURI}}
	if err := session.request("textDocument/diagnostic", pull); err != nil {
		return err
	}
	line := strings.Count(source[:strings.Index(source, "def grad_norm")], "\n") + 1
	times := make([]time.Duration, 0, keystrokes)
	for i := range keystrokes {
		version := i + 2
		at := map[string]any{"line": line, "character": 15}
		change := map[string]any{"range": map[string]any{"start": at, "end": at}, "text": "0"}
		typed := time.Now()
		session.notify("textDocument/didChange", map[string]any{
			"textDocument":   map[string]any{"uri": fileURI, "version": version},
			"contentChanges": []any{change}})
		if err := session.request("textDocument/diagnostic", pull); err != nil {
			return err
		}
		times = append(times, time.Since(typed))
	}
	row("keystroke to diagnostics, 5,000 lines", "p50 %.1f ms, p95 %.1f ms over %d keystrokes",
		milliseconds(quantile(times, 0.5)), milliseconds(quantile(times, 0.95)), keystrokes)
	return nil
}

func fileURI(path string) string {
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String()
}

// session is one `stepline lsp` and the pipe to it.
type session struct {
	process *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	nextID  int
}

func startSession(stepline string) (*session, error) {
	process := exec.Command(stepline, "lsp")
	in, err := process.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &session{process: process, in: in, out: bufio.NewReaderSize(out, 1<<20)}, process.Start()
}

func (s *session) stop() {
	s.in.Close() // the server ends with its input
	_ = s.process.Wait()
}

type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

func (s *session) send(body map[string]any) {
	body["jsonrpc"] = "2.0"
	text, err := json.Marshal(body)
	if err != nil {
		panic(err) // maps of strings and numbers always encode
	}
	fmt.Fprintf(s.in, "Content-Length: %d\r\n\r\n%s", len(text), text)
}

func (s *session) notify(method string, params any) {
	s.send(map[string]any{"method": method, "params": params})
}

// request sends a request and waits for its answer; requests of the server are answered with null meanwhile.
func (s *session) request(method string, params any) error {
	s.nextID++
	id := s.nextID
	s.send(map[string]any{"id": id, "method": method, "params": params})
	for {
		m, err := s.read()
		if err != nil {
			return err
		}
		if m.Method == "" && string(m.ID) == strconv.Itoa(id) {
			if m.Error != nil {
				return errors.New(m.Error.Message)
			}
			return nil
		}
	}
}

func (s *session) read() (message, error) {
	length := 0
	for {
		header, err := s.out.ReadString('\n')
		if err != nil {
			return message{}, fmt.Errorf("the server's output ended: %w", err)
		}
		header = strings.TrimSpace(header)
		if header == "" {
			break
		}
		if value, ok := strings.CutPrefix(header, "Content-Length:"); ok {
			if length, err = strconv.Atoi(strings.TrimSpace(value)); err != nil {
				return message{}, err
			}
		}
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(s.out, body); err != nil {
		return message{}, err
	}
	var m message
	if err := json.Unmarshal(body, &m); err != nil {
		return message{}, err
	}
	if m.Method != "" && len(m.ID) > 0 {
		s.send(map[string]any{"id": m.ID, "result": nil})
	}
	return m, nil
}
