package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// wheel is a Python wheel (PEP 427) that carries the binary as a script, as pip installs it into a virtual environment's bin.
type wheel struct {
	version  string // PEP 440
	platform platform
	program  []byte
	modules  []entry // Python files, by their path in site-packages
}

// platformTags are the platforms on which pip may install a binary. It is static, so that one file is for glibc and musl; Go 1.26
// needs macOS 12 or newer (https://go.dev/wiki/MinimumRequirements).
var platformTags = map[platform][]string{
	{"linux", "amd64"}:   {"manylinux_2_17_x86_64", "manylinux2014_x86_64", "musllinux_1_1_x86_64"},
	{"linux", "arm64"}:   {"manylinux_2_17_aarch64", "manylinux2014_aarch64", "musllinux_1_1_aarch64"},
	{"darwin", "amd64"}:  {"macosx_12_0_x86_64"},
	{"darwin", "arm64"}:  {"macosx_12_0_arm64"},
	{"windows", "amd64"}: {"win_amd64"},
	{"windows", "arm64"}: {"win_arm64"},
}

func (w *wheel) fileName() string {
	return fmt.Sprintf("stepline-%s-py3-none-%s.whl", w.version, strings.Join(platformTags[w.platform], "."))
}

// wheelModules are the Python files of every wheel: the package stepline, and the recorder's modules, which it imports.
// sitecustomize.py is for processes below `stepline record` and would run in every Python process of an environment.
func wheelModules(root string) ([]entry, error) {
	var entries []entry
	for pattern, folder := range map[string]string{"packaging/python/stepline/*.py": "stepline", "traceindex/recorder/python/stepline_*.py": ""} {
		files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err != nil {
			return nil, err
		}
		if len(files) == 0 {
			return nil, fmt.Errorf("%s: no such files in %s; name the checkout with -root", pattern, root)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			entries = append(entries, entry{path: path.Join(folder, filepath.Base(file)), mode: 0o644, data: data})
		}
	}
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.path, b.path) })
	return entries, nil
}

const wheelDescription = `stepline puts GPU cost on each line of PyTorch training code from an ordinary profiler trace, says why the GPU waits, and lints
and mends known mistakes.

    pip install stepline
    stepline check train.py                        # lint, no trace needed
    stepline record -o runs/today -- python train.py
    stepline lines runs/today                      # cost per line
    stepline report runs/today                     # why the GPU waits, and what to do first

` + "`python -m stepline`" + ` runs the same program. For loops of your own:

    import stepline

    with stepline.watch("captures") as w:
        for batch in loader:
            loss = train_step(batch)
            w.step(loss=loss)
`

func (w *wheel) metadata() string {
	return "Metadata-Version: 2.1\nName: stepline\nVersion: " + w.version + `
Summary: What each line of PyTorch training code costs on the GPU
Requires-Python: >=3.8
Keywords: pytorch,profiler,gpu,cuda,linter
Classifier: Environment :: GPU :: NVIDIA CUDA
Classifier: Intended Audience :: Developers
Classifier: Programming Language :: Python :: 3
Classifier: Topic :: Software Development :: Quality Assurance
Description-Content-Type: text/markdown

` + wheelDescription
}

func (w *wheel) tags() string {
	var out strings.Builder
	out.WriteString("Wheel-Version: 1.0\nGenerator: stepline packaging\nRoot-Is-Purelib: false\n")
	for _, tag := range platformTags[w.platform] {
		out.WriteString("Tag: py3-none-" + tag + "\n")
	}
	return out.String()
}

// write writes the wheel. RECORD, which lists the others with their hashes, comes last, as PEP 427 advises.
func (w *wheel) write(out io.Writer, stamp time.Time) error {
	info := "stepline-" + w.version + ".dist-info"
	entries := slices.Clone(w.modules)
	for i, e := range entries {
		entries[i].data = bytes.ReplaceAll(e.data, []byte("@VERSION@"), []byte(w.version))
	}
	entries = append(entries,
		entry{path: "stepline-" + w.version + ".data/scripts/" + w.platform.program(), mode: 0o755, data: w.program},
		entry{path: info + "/METADATA", mode: 0o644, data: []byte(w.metadata())},
		entry{path: info + "/WHEEL", mode: 0o644, data: []byte(w.tags())})
	var record strings.Builder
	for _, e := range entries {
		sum := sha256.Sum256(e.data)
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", e.path, base64.RawURLEncoding.EncodeToString(sum[:]), len(e.data))
	}
	record.WriteString(info + "/RECORD,,\n")
	entries = append(entries, entry{path: info + "/RECORD", mode: 0o644, data: []byte(record.String())})
	return writeZip(out, "", entries, stamp)
}
