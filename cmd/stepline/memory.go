package main

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
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

// Once a huge file is open the server's memory is kept under smallServerBytes while what it must keep leaves room for that: each check
// of the file makes a model of it, and three times what is kept would be the editor's loss. Once more than roomyBytes are kept (a
// large workspace) that bound would have memory collected without end, and only serverGCPercent holds; so it does once a trace was
// loaded, whose index stays.
const (
	smallServerBytes = 430 << 20
	roomyBytes       = 380 << 20
)

// serverBound gives what begins to bound the server's memory so, unless the user has set GOMEMLIMIT, and what ends it for good.
func serverBound() (bound, lift func()) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return func() {}, func() {}
	}
	var lifted atomic.Bool
	bound = sync.OnceFunc(func() {
		if lifted.Load() {
			return
		}
		limit := serverLimit(0)
		debug.SetMemoryLimit(limit)
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		afterEachCollection(func() {
			metrics.Read(live)
			next := serverLimit(live[0].Value.Uint64())
			if lifted.Load() {
				next = math.MaxInt64
			}
			if next != limit { // to set it stops the program for a moment
				limit = next
				debug.SetMemoryLimit(limit)
			}
		})
	})
	return bound, func() { lifted.Store(true) }
}

// serverLimit is the memory limit of a server whose last collection left so many bytes.
func serverLimit(liveBytes uint64) int64 {
	if liveBytes > roomyBytes {
		return math.MaxInt64
	}
	return smallServerBytes
}

// afterEachCollection calls f after every collection of memory, never twice at once.
func afterEachCollection(f func()) {
	type sentinel struct{ _ *sentinel } // a pointer in it: objects without one may share an allocation, and never be free
	var watch func()
	watch = func() {
		runtime.AddCleanup(&sentinel{}, func(struct{}) {
			f()
			watch()
		}, struct{}{})
	}
	watch()
}
