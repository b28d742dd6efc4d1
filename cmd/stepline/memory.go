package main

import (
	"os"
	"runtime/debug"
)

// How much memory may grow before it is collected, in per cent. A command lives for a second or two and makes much of what it
// keeps: a fifth of its processor time saved is worth a fifth more memory. Of a keystroke's check most dies at once.
const (
	commandGCPercent = 400
	serverGCPercent  = 200
)

// collectAt sets that, unless the user has set GOGC.
func collectAt(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}
