//go:build !windows

package rules_test

import (
	"syscall"
	"time"
)

// processTime is the processor time this process has used, its garbage collection included.
func processTime() time.Duration {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		return 0
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
