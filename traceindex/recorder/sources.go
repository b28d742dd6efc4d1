package recorder

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
)

// Sources is what a recording notes of the source files that ran, and of where they ran: the file X.sources.json.gz beside the
// trace X.json.gz.
type Sources struct {
	Schema int    `json:"schema"` // 1
	Trace  string `json:"trace"`  // file name of the trace
	// Root is the workspace folder on the machine that recorded.
	Root string `json:"root"`
	Host string `json:"host"`
	PID  int    `json:"pid"`
	// RecordedAt is the time of writing, RFC 3339 in UTC.
	RecordedAt string `json:"recorded_at"`
	// Rank and WorldSize are nil outside a distributed run, LocalRank where no launcher set it.
	Rank      *int `json:"rank"`
	WorldSize *int `json:"world_size"`
	LocalRank *int `json:"local_rank"`
	// CallLines is the number of rows in the call-line file.
	CallLines int           `json:"call_lines"`
	Steps     RecordedSteps `json:"steps"`
	// Versions of stepline, python, torch, cuda, cudnn, nccl and the device's name; null values where there is none.
	Versions map[string]any `json:"versions"`
	Files    []SourceFile   `json:"files"`
}

// RecordedSteps says which of the script's steps, counted from 0, the trace holds.
type RecordedSteps struct {
	First    int `json:"first"`
	Recorded int `json:"recorded"`
	// Asked and Warmup are the options; Complete is false where the script ended before the window did.
	Asked    int  `json:"asked"`
	Warmup   int  `json:"warmup"`
	Complete bool `json:"complete"`
	// Optimizer is the class whose step() marked the steps, OptimizerSteps the number of all optimizers' steps seen.
	Optimizer      string `json:"optimizer"`
	OptimizerSteps int    `json:"optimizer_steps"`
}

// SourceFile is one source file as it ran.
type SourceFile struct {
	// Path is relative to Root with `/`, or absolute outside it.
	Path string `json:"path"`
	// Recorded are the names that the trace's frames and the call lines use for it; none where no frame of it ran in the
	// window.
	Recorded []string `json:"recorded"`
	SHA256   string   `json:"sha256"`
	Size     int64    `json:"size"` // bytes
	// ModifiedAfterStart: the file was written after the process had started, so what ran may differ.
	ModifiedAfterStart bool `json:"modified_after_start"`
	// LineHashes has for line i+1 the first 12 hex digits of the SHA-256 of its bytes without the line ending.
	LineHashes []string `json:"line_hashes"`
	// Text is the file's text; empty where it was left out or is not UTF-8.
	Text string `json:"text"`
}

// maxSourcesBytes bounds what a sources file unpacks to: all Python files of a workspace have a few megabytes, and a few
// kilobytes of gzip can say gigabytes.
const maxSourcesBytes = 64 << 20

// ReadSources reads a sources file, gzip or plain.
func ReadSources(r io.Reader) (*Sources, error) {
	in := bufio.NewReader(r)
	var text io.Reader = in
	if head, _ := in.Peek(2); len(head) == 2 && head[0] == 0x1f && head[1] == 0x8b {
		unpacked, err := gzip.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("recorder: sources: %w", err)
		}
		text = unpacked
	}
	var s Sources
	bounded := &io.LimitedReader{R: text, N: maxSourcesBytes + 1}
	if err := json.NewDecoder(bounded).Decode(&s); bounded.N <= 0 {
		return nil, fmt.Errorf("recorder: sources: more than %d bytes of text", maxSourcesBytes)
	} else if err != nil {
		return nil, fmt.Errorf("recorder: sources: %w", err)
	}
	if s.Schema != 1 {
		return nil, fmt.Errorf("recorder: sources: schema %d is not known to this stepline, which reads schema 1", s.Schema)
	}
	return &s, nil
}
