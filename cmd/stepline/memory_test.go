package main

import (
	"math"
	"runtime"
	"testing"
)

func TestTheServersLimitGivesWayToWhatItMustKeep(t *testing.T) {
	for _, test := range []struct {
		live uint64
		want int64
	}{{0, smallServerBytes}, {roomyBytes, smallServerBytes}, {roomyBytes + 1, math.MaxInt64}, {4 << 30, math.MaxInt64}} {
		if got := serverLimit(test.live); got != test.want {
			t.Errorf("%d bytes kept: the limit is %d, want %d", test.live, got, test.want)
		}
	}
}

func TestAfterEachCollection(t *testing.T) {
	collected := make(chan struct{}, 100)
	afterEachCollection(func() { collected <- struct{}{} })
	for range 3 {
		runtime.GC()
		<-collected
	}
}
