package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// release is what all platforms of one release share.
type release struct {
	version string    // as `git describe` says it
	time    time.Time // of every entry of every archive
	root    string    // the checkout
	out     string
	// shared are the files that every archive holds, by their path in it.
	shared []entry
}

func main() {
	version := flag.String("version", "", "the version, as `git describe --tags --always --dirty` says it")
	targets := flag.String("targets", "all", "platforms, such as linux/amd64,darwin/arm64, or all")
	root := flag.String("root", ".", "the checkout")
	out := flag.String("out", "dist", "the folder to write to")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *version, *targets, *root, *out); err != nil {
		fmt.Fprintln(os.Stderr, "packaging:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, version, targets, root, out string) error {
	if version == "" {
		return fmt.Errorf("name the version: -version \"$(git describe --tags --always --dirty)\"")
	}
	platforms, err := parsePlatforms(targets)
	if err != nil {
		return err
	}
	// 1980 is the first year that a zip archive can hold.
	stamp := time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)
	if text := os.Getenv("SOURCE_DATE_EPOCH"); text != "" {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("SOURCE_DATE_EPOCH=%s is no number of seconds", text)
		}
		if t := time.Unix(seconds, 0).UTC(); t.After(stamp) {
			stamp = t
		}
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "stepline-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	r := &release{version: version, time: stamp, root: root, out: out}
	host := hostPlatform()
	own := filepath.Join(scratch, host.program())
	if err := build(ctx, root, host, version, own); err != nil {
		return err
	}
	if r.shared, err = sharedFiles(ctx, own, root, stamp); err != nil {
		return err
	}
	for _, p := range platforms {
		binary := own
		if p != host {
			binary = filepath.Join(scratch, p.os+"-"+p.arch+"-"+p.program())
			if err := build(ctx, root, p, version, binary); err != nil {
				return err
			}
		}
		files, err := r.pack(p, binary)
		if err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		for _, file := range files {
			fmt.Println(file)
		}
	}
	return nil
}

// pack writes a platform's files and returns their paths.
func (r *release) pack(p platform, binary string) ([]string, error) {
	program, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	name := "stepline-" + strings.TrimPrefix(r.version, "v") + "-" + p.os + "-" + p.arch
	entries := append([]entry{{path: p.program(), mode: 0o755, data: program}}, r.shared...)
	archive := filepath.Join(r.out, name+".tar.gz")
	write := writeTarGz
	if p.os == "windows" {
		archive, write = filepath.Join(r.out, name+".zip"), writeZip
	}
	if err := writeFile(archive, func(file *os.File) error { return write(file, name, entries, r.time) }); err != nil {
		return nil, err
	}
	modules, err := wheelModules(r.root)
	if err != nil {
		return nil, err
	}
	w := wheel{version: pep440(r.version), platform: p, program: program, modules: modules}
	wheelPath := filepath.Join(r.out, w.fileName())
	if err := writeFile(wheelPath, func(file *os.File) error { return w.write(file, r.time) }); err != nil {
		return nil, err
	}
	bill := filepath.Join(r.out, name+".cdx.json")
	err = writeFile(bill, func(file *os.File) error { return writeBill(file, binary, r.version, r.time) })
	return []string{archive, wheelPath, bill}, err
}

// writeFile writes a file whole or not at all.
func writeFile(path string, write func(*os.File) error) (err error) {
	file, err := os.CreateTemp(filepath.Dir(path), ".packaging-*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // already renamed where all went well
	err = write(file)
	if err = cmp.Or(err, file.Chmod(0o644), file.Close()); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.Rename(file.Name(), path)
}
