package rules_test

import (
	"time"

	"golang.org/x/sys/windows"
)

// processTime is the processor time this process has used, its garbage collection included.
func processTime() time.Duration {
	var created, ended, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(windows.CurrentProcess(), &created, &ended, &kernel, &user); err != nil {
		return 0
	}
	const tick = 100 * time.Nanosecond // a Filetime counts in these; Nanoseconds would count from 1601
	ticks := func(t windows.Filetime) int64 { return int64(t.HighDateTime)<<32 | int64(t.LowDateTime) }
	return time.Duration(ticks(kernel)+ticks(user)) * tick
}
