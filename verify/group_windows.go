package verify

import (
	"os/exec"
	"time"
)

// endTogether gives a cancelled command time to let go of its output.
func endTogether(command *exec.Cmd) { command.WaitDelay = 5 * time.Second }

// shell is how a command line is run.
func shell(line string) []string { return []string{"cmd", "/c", line} }
