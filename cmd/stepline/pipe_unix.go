//go:build !windows

package main

import (
	"errors"
	"syscall"
)

// readerGone tells that a write failed because what read the output (`| head`) has ended.
func readerGone(err error) bool { return errors.Is(err, syscall.EPIPE) }
