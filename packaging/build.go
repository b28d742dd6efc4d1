package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// platform is an operating system and a processor, in Go's words.
type platform struct{ os, arch string }

// platforms are those that a release is built for.
var platforms = []platform{
	{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"}, {"windows", "arm64"},
}

func (p platform) String() string { return p.os + "/" + p.arch }

// program is the binary's file name.
func (p platform) program() string {
	if p.os == "windows" {
		return "stepline.exe"
	}
	return "stepline"
}

// hostPlatform is the one this program runs on.
func hostPlatform() platform { return platform{runtime.GOOS, runtime.GOARCH} }

func parsePlatforms(text string) ([]platform, error) {
	if text == "all" {
		return platforms, nil
	}
	var chosen []platform
	for name := range strings.SplitSeq(text, ",") {
		i := slices.IndexFunc(platforms, func(p platform) bool { return p.String() == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no platform %q; there are %v, and all", name, platforms)
		}
		chosen = append(chosen, platforms[i])
	}
	return chosen, nil
}

// build compiles stepline for a platform.
func build(ctx context.Context, root string, p platform, version, out string) error {
	out, err := filepath.Abs(out)
	if err != nil {
		return err
	}
	command := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -buildid= -X main.version="+version, "-o", out, "./cmd/stepline")
	command.Dir = root
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.os, "GOARCH="+p.arch, "GOFLAGS=")
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("go build for %s: %w\n%s", p, err, output)
	}
	return nil
}
