package recorder

import (
	"context"
	"os"
	"os/exec"
	"os/signal"
)

// runPassingSignals runs a command; on Windows the console tells every process of it of a Ctrl-C. A done ctx ends the command.
func runPassingSignals(ctx context.Context, command *exec.Cmd, _ map[string]func()) (code int, err error) {
	received := make(chan os.Signal, 1)
	signal.Notify(received, os.Interrupt)
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
		case <-received:
		case <-done:
			done = nil
			_ = command.Process.Kill()
		}
	}
}
