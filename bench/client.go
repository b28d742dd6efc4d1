package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

func fileURI(path string) string {
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String()
}

// client speaks to one language server over a pipe, one message after the other.
type client struct {
	process *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	nextID  int
}

func startClient(command string, arguments ...string) (*client, error) {
	process := exec.Command(command, arguments...)
	in, err := process.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &client{process: process, in: in, out: bufio.NewReaderSize(out, 1<<20)}, process.Start()
}

func (c *client) stop() {
	c.in.Close() // the server ends with its input
	_ = c.process.Wait()
}

type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
	// arrived is when its last byte was read, before it was decoded.
	arrived time.Time
}

func (c *client) send(body map[string]any) {
	body["jsonrpc"] = "2.0"
	text, err := json.Marshal(body)
	if err != nil {
		panic(err) // maps of strings and numbers always encode
	}
	fmt.Fprintf(c.in, "Content-Length: %d\r\n\r\n%s", len(text), text)
}

func (c *client) notify(method string, params any) {
	c.send(map[string]any{"method": method, "params": params})
}

// begin sends a request; answered tells its answer.
func (c *client) begin(method string, params any) (id int) {
	c.nextID++
	c.send(map[string]any{"id": c.nextID, "method": method, "params": params})
	return c.nextID
}

func (m *message) answered(id int) bool { return m.Method == "" && string(m.ID) == strconv.Itoa(id) }

// request sends a request and returns how long its answer took.
func (c *client) request(method string, params any) (time.Duration, error) {
	began := time.Now()
	id := c.begin(method, params)
	arrived, err := c.until(func(m *message) bool { return m.answered(id) })
	return arrived.Sub(began), err
}

// ask sends a request and decodes its answer.
func (c *client) ask(method string, into any) error {
	id := c.begin(method, nil)
	var answer json.RawMessage
	_, err := c.until(func(m *message) bool {
		answer = m.Result
		return m.answered(id)
	})
	if err != nil {
		return err
	}
	return json.Unmarshal(answer, into)
}

// until reads until a message is the one waited for and returns when it arrived; requests of the server are answered with null
// meanwhile. An error answered to a request of ours ends it.
func (c *client) until(isIt func(*message) bool) (time.Time, error) {
	for {
		m, err := c.read()
		switch {
		case err != nil:
			return time.Time{}, err
		case m.Method == "" && m.Error != nil:
			return time.Time{}, errors.New(m.Error.Message)
		case isIt(&m):
			return m.arrived, nil
		}
	}
}

func (c *client) read() (message, error) {
	length := 0
	for {
		header, err := c.out.ReadString('\n')
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
	if _, err := io.ReadFull(c.out, body); err != nil {
		return message{}, err
	}
	m := message{arrived: time.Now()}
	if err := json.Unmarshal(body, &m); err != nil {
		return message{}, err
	}
	if m.Method != "" && len(m.ID) > 0 {
		c.send(map[string]any{"id": m.ID, "result": nil})
	}
	return m, nil
}
