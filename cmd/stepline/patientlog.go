package main

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

// patientLog passes lines on to an output that somebody may not read: the editor that started the server may leave its standard
// error alone, and once that pipe is full a write waits for ever. What finds no room is dropped, and told once there is room.
type patientLog struct {
	lines   chan logLine
	dropped atomic.Int64
}

// logLine is a line to write, or a question for when those before it are written.
type logLine struct {
	text    []byte
	written chan struct{}
}

const (
	// waitingLines is how many lines wait to be written.
	waitingLines = 1024
	// longestLine bounds one, in bytes: it may quote what the client sent.
	longestLine = 16 << 10
	// flushTime is how long Sync waits for somebody to read.
	flushTime = 200 * time.Millisecond
)

func newPatientLog(out io.Writer) *patientLog {
	p := &patientLog{lines: make(chan logLine, waitingLines)}
	go func() {
		for line := range p.lines {
			if line.written != nil {
				close(line.written)
				continue
			}
			// There is nowhere to tell of an error in writing.
			if dropped := p.dropped.Swap(0); dropped > 0 {
				_, _ = fmt.Fprintf(out, "%d lines of the log were dropped: nobody read it\n", dropped)
			}
			_, _ = out.Write(line.text)
		}
	}()
	return p
}

// Write implements io.Writer; it never waits.
func (p *patientLog) Write(line []byte) (int, error) {
	text := append([]byte(nil), line[:min(len(line), longestLine)]...)
	if len(text) < len(line) {
		text = append(text, "…\n"...)
	}
	select {
	case p.lines <- logLine{text: text}:
	default:
		p.dropped.Add(1)
	}
	return len(line), nil
}

// Sync waits until what was logged is written, but not long.
func (p *patientLog) Sync() error {
	over := time.After(flushTime)
	written := make(chan struct{})
	select {
	case p.lines <- logLine{written: written}:
	case <-over:
		return nil
	}
	select {
	case <-written:
	case <-over:
	}
	return nil
}
