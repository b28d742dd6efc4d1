//go:build !windows

package process

import (
	"os"
	"runtime"
	"syscall"
)

// peakBytes is the largest resident set of a process that has ended.
func peakBytes(state *os.ProcessState) (int64, bool) {
	usage, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0, false
	}
	if runtime.GOOS == "darwin" { // getrusage(2): bytes there, KiB on Linux and the BSDs
		return int64(usage.Maxrss), true
	}
	return int64(usage.Maxrss) * 1024, true
}
