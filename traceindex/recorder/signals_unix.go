//go:build !windows

package recorder

import (
	"context"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// runPassingSignals runs a command and hands it the signals meant for it. The command stays in our process group, so the
// terminal's own (Ctrl-C, Ctrl-\) reach it without us. A taken signal is not handed on: its function is called.
func runPassingSignals(ctx context.Context, command *exec.Cmd, taken map[string]func()) (code int, err error) {
	received := make(chan os.Signal, 8)
	signal.Notify(received, syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2)
	defer signal.Stop(received)
	if err := command.Start(); err != nil {
		return 0, err
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	done := ctx.Done()
	for {
		select {
		case err := <-ended:
			return exitCode(err)
		case got := <-received:
			if got == syscall.SIGINT {
				done = nil // whoever watches for it will end ctx too: that is the same interrupt
			}
			if take := taken[unix.SignalName(got.(syscall.Signal))]; take != nil {
				take()
				continue
			}
			if fromTerminal := got == syscall.SIGINT || got == syscall.SIGQUIT; !fromTerminal || !foreground() {
				_ = command.Process.Signal(got)
			}
		case <-done:
			done = nil
			select {
			case got := <-received:
				received <- got
			case <-time.After(100 * time.Millisecond):
				_ = command.Process.Signal(syscall.SIGINT)
			}
		}
	}
}

// foreground reports whether we are the terminal's foreground job, which its keys send signals to.
func foreground() bool {
	terminal, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer terminal.Close()
	group, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
