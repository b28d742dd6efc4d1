package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
)

func TestALogNobodyReadsKeepsNobodyWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		read, write := io.Pipe()
		log := newPatientLog(write)
		fmt.Fprintln(log, "first")
		synctest.Wait() // it is being written
		for i := range 3 * waitingLines {
			fmt.Fprintf(log, "line %d\n", i)
		}
		if err := log.Sync(); err != nil {
			t.Error(err)
		}
		var got bytes.Buffer
		go func() { _, _ = io.Copy(&got, read) }()
		synctest.Wait()
		fmt.Fprintf(log, "long %s\n", strings.Repeat("x", 2*longestLine))
		if err := log.Sync(); err != nil {
			t.Error(err)
		}
		close(log.lines)
		lines := strings.Split(strings.TrimSuffix(got.String(), "\n"), "\n")
		// As many as there is room for waited; what was dropped is told before the next that was not.
		dropped := fmt.Sprintf("%d lines of the log were dropped: nobody read it", 2*waitingLines)
		if len(lines) != waitingLines+3 || lines[0] != "first" || lines[1] != dropped || lines[waitingLines+1] != fmt.Sprint("line ", waitingLines-1) {
			t.Errorf("%d lines, the second is %q", len(lines), lines[1])
		}
		if last := lines[len(lines)-1]; !strings.HasPrefix(last, "long x") || len(last) != longestLine+len("…") {
			t.Errorf("a long line is written with %d bytes", len(last))
		}
		_ = write.Close()
	})
}
