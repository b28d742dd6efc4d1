package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// messages frames bodies as a client sends them.
func messages(bodies ...string) string {
	var b strings.Builder
	for _, body := range bodies {
		fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n%s", len(body), body)
	}
	return b.String()
}

const (
	initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"processId":null,"capabilities":{}}}`
	open       = `{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{"uri":"untitled:a","languageId":"python","version":1,"text":"import torch\nsecret = torch.load(p)\n"}}}`
	change     = `{"jsonrpc":"2.0","method":"textDocument/didChange","params":{"textDocument":{"uri":"untitled:a","version":2},"contentChanges":[{"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":0}},"text":"\n"}]}}`
	hover      = `{"jsonrpc":"2.0","id":2,"method":"textDocument/hover","params":{"textDocument":{"uri":"untitled:a"},"position":{"line":2,"character":12}}}`
	shutdown   = `{"jsonrpc":"2.0","id":3,"method":"shutdown"}`
	exit       = `{"jsonrpc":"2.0","method":"exit"}`
)

func TestLSPSessionIsRecordedLoggedAndReplayed(t *testing.T) {
	folder := t.TempDir()
	session := messages(initialize, `{"jsonrpc":"2.0","method":"no/such"}`, open, change, hover, shutdown, exit)
	for _, texts := range []bool{false, true} {
		record, log := filepath.Join(folder, fmt.Sprint("session", texts)), filepath.Join(folder, fmt.Sprint("log", texts))
		arguments := []string{"lsp", "--record", record, "--log", log, "--log-level", "debug"}
		if texts {
			arguments = append(arguments, "--record-texts")
		}
		got := stepline(t, folder, session, nil, arguments...)
		if got.code != 0 || got.errout != "" || !strings.HasPrefix(got.out, "Content-Length: ") || !strings.Contains(got.out, "IOL003") {
			t.Errorf("code %d, error output %q, output %.300q", got.code, got.errout, got.out)
		}
		if written := readFile(t, log); !strings.Contains(written, "debug") || !strings.Contains(written, "no/such") {
			t.Errorf("the log is %q", written)
		}
		recorded := readFile(t, record)
		if strings.Count(recorded, "\n") != 7 || strings.Contains(recorded, "secret") != texts {
			t.Errorf("texts %v: the record is\n%s", texts, recorded)
		}
		replayed := stepline(t, folder, "", nil, "lsp", "--replay", record)
		for _, method := range []string{"initialize", "textDocument/didChange", "textDocument/hover", "shutdown"} {
			if !regexp.MustCompile(`(?m)^` + method + ` +1 `).MatchString(replayed.out) {
				t.Errorf("the replay tells nothing of %s:\n%s", method, replayed.out)
			}
		}
		if replayed.code != 0 || replayed.errout != "" {
			t.Errorf("replay: code %d, %q", replayed.code, replayed.errout)
		}
	}
}

func TestLSPQuietLevelsAndExitStatus(t *testing.T) {
	folder := t.TempDir()
	log := filepath.Join(folder, "log")
	got := stepline(t, folder, messages(initialize, "no json", exit), nil, "lsp", "--log", log, "--log-level", "error")
	if got.code != 1 || got.errout != "" {
		t.Errorf("exit before shutdown: code %d, %q; the protocol wants 1 and no words", got.code, got.errout)
	}
	if written := readFile(t, log); written != "" {
		t.Errorf("at level error the log is %q", written)
	}
	got = stepline(t, folder, messages(initialize, "no json", shutdown, exit), nil, "lsp", "--log", log)
	if written := readFile(t, log); got.code != 0 || !strings.Contains(written, "not JSON") {
		t.Errorf("at the usual level: code %d, the log is %q", got.code, written)
	}
}

func TestLSPWrongFlags(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "other.txt"), []byte("no session\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		arguments []string
		says      []string
	}{
		{[]string{"--log-level", "loud"}, []string{"--log-level loud", "debug, info, warn or error"}},
		{[]string{"--log", "no/such/folder/log"}, []string{"--log", "no/such/folder"}},
		{[]string{"--record", "no/such/folder/record"}, []string{"--record", "no/such/folder"}},
		{[]string{"--replay", "missing"}, []string{"--replay", "missing"}},
		{[]string{"--replay", "other.txt"}, []string{"other.txt", "line 1"}},
		{[]string{"--pprof", "0.0.0.0:0"}, []string{"0.0.0.0:0", "loopback"}},
		{[]string{"--pprof", "nowhere"}, []string{"nowhere"}},
		{[]string{"extra"}, []string{"extra"}},
	} {
		got := stepline(t, folder, messages(initialize, shutdown, exit), nil, append([]string{"lsp"}, test.arguments...)...)
		if got.code != 2 {
			t.Errorf("%v: code %d, want 2", test.arguments, got.code)
		}
		oneLine(t, got.errout, test.says...)
	}
}

// TestLSPServesProfiles for as long as the session lives, on loopback.
func TestLSPServesProfiles(t *testing.T) {
	t.Chdir(t.TempDir())
	in, client := io.Pipe()
	fromServer, out := io.Pipe()
	code := make(chan int, 1)
	go func() {
		code <- run(context.Background(), streams{in: in, out: out, err: &bytes.Buffer{}, environment: func(string) string { return "" }}, []string{"lsp", "--pprof", "127.0.0.1:0", "--log", "log"})
		_ = out.Close()
	}()
	if _, err := io.WriteString(client, messages(initialize)); err != nil {
		t.Fatal(err)
	}
	answer, err := bufio.NewReader(fromServer).ReadString('\n') // the server is up, and so are the pages
	if err != nil || !strings.HasPrefix(answer, "Content-Length") {
		t.Fatal(answer, err)
	}
	go func() { _, _ = io.Copy(io.Discard, fromServer) }()
	var entry struct{ URL string }
	logged := readFile(t, "log")
	if err := json.Unmarshal([]byte(logged[strings.IndexByte(logged, '{'):]), &entry); err != nil {
		t.Fatal(logged, err)
	}
	response, err := http.Get(entry.URL + "goroutine?debug=1")
	if err != nil {
		t.Fatal(err)
	}
	page, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil || response.StatusCode != http.StatusOK || !bytes.Contains(page, []byte("stepline/lsp")) {
		t.Errorf("%s: status %d, %v", entry.URL, response.StatusCode, err)
	}
	_ = client.Close()
	if got := <-code; got != 0 {
		t.Errorf("code %d at the end of the input", got)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
