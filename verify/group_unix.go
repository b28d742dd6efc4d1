//go:build !windows

package verify

import (
	"os/exec"
	"syscall"
	"time"
)

// endTogether has a cancelled command and all below it interrupted, and ended when they take too long.
func endTogether(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.WaitDelay = 5 * time.Second
	command.Cancel = func() error {
		group := -command.Process.Pid
		time.AfterFunc(command.WaitDelay/2, func() { _ = syscall.Kill(group, syscall.SIGKILL) }) // whoever is left
		return syscall.Kill(group, syscall.SIGINT)
	}
}

// shell is how a command line is run.
func shell(line string) []string { return []string{"sh", "-c", line} }
