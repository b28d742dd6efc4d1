package main

import (
	"errors"

	"golang.org/x/sys/windows"
)

// readerGone tells that a write failed because what read the output (`| more`) has ended.
func readerGone(err error) bool {
	return errors.Is(err, windows.ERROR_BROKEN_PIPE) || errors.Is(err, windows.ERROR_NO_DATA)
}
