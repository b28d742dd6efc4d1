package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by the linker (see the Makefile); a plain `go install` takes it from the build information.
var version = ""

func steplineVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}

// versionLine is what `stepline version` and `stepline --version` print.
func versionLine() string {
	return fmt.Sprintf("stepline %s (%s, %s/%s)\n", steplineVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func newVersionCommand(io streams) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print stepline's version",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprint(io.out, versionLine())
			return err
		},
	}
}
