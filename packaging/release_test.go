package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
)

// TestRelease runs scripts/release.sh for this platform and does with the files what people do with them. It compiles
// everything without cgo, which takes minutes: `make test-release` runs it.
func TestRelease(t *testing.T) {
	if os.Getenv("STEPLINE_RELEASE") == "" {
		t.Skip("`make test-release` runs this")
	}
	out := filepath.Join(t.TempDir(), "dist")
	host := hostPlatform()
	release := func(folder string) {
		t.Helper()
		command := exec.Command("./scripts/release.sh", host.String(), folder)
		command.Dir = ".."
		command.Env = append(os.Environ(), "VERSION=v9.8.7-3-g0123abc", "SOURCE_DATE_EPOCH=1767323046", "WITHOUT_VSIX=1")
		if output, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, output)
		}
	}
	release(out)
	if host.os == "linux" {
		inFolder(t, out, "sha256sum", "--check", "--strict", "SHA256SUMS")
	}
	sums, err := os.ReadFile(filepath.Join(out, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(out, "stepline-*"))
	if err != nil || len(files) != 3 || strings.Count(string(sums), "\n") != 3 {
		t.Fatalf("%v, %v, sums\n%s", files, err, sums)
	}
	t.Run("reproducible", func(t *testing.T) {
		again := filepath.Join(t.TempDir(), "again")
		release(again)
		if other, err := os.ReadFile(filepath.Join(again, "SHA256SUMS")); err != nil || !bytes.Equal(sums, other) {
			t.Errorf("the second release differs: %v\n%s%s", err, sums, other)
		}
	})
	t.Run("bill", func(t *testing.T) { checkBill(t, find(t, out, "*.cdx.json")) })
	t.Run("archive", func(t *testing.T) {
		folder := t.TempDir()
		inFolder(t, folder, "tar", "-xzf", find(t, out, "*.tar.gz"))
		program := find(t, folder, "*/stepline")
		if got := inFolder(t, folder, program, "version"); !strings.HasPrefix(got, "stepline v9.8.7-3-g0123abc ") {
			t.Errorf("version %q", got)
		}
		for _, name := range []string{"*/man/man1/stepline-check.1", "*/completions/_stepline", "*/README.md"} {
			find(t, folder, name)
		}
		if runtime.GOOS == "linux" {
			if linked, _ := exec.Command("ldd", program).CombinedOutput(); !strings.Contains(string(linked), "not a dynamic executable") {
				t.Errorf("the program needs libraries: %s", linked)
			}
		}
	})
	t.Run("wheel", func(t *testing.T) { checkInstalled(t, find(t, out, "*.whl")) })
}

// checkInstalled installs the wheel into a fresh virtual environment and uses it.
func checkInstalled(t *testing.T, wheel string) {
	folder := t.TempDir()
	base := "python3"
	if _, err := os.Stat("/usr/bin/python3"); err == nil {
		base = "/usr/bin/python3" // the one that has torch where CI installs it
	}
	if output, err := exec.Command(base, "-m", "venv", "--system-site-packages", filepath.Join(folder, "venv")).CombinedOutput(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("venv: %v\n%s", err, output)
		}
		t.Skipf("no virtual environment can be made (Debian: apt-get install python3-venv): %v\n%s", err, output)
	}
	bin := filepath.Join(folder, "venv", "bin")
	python := filepath.Join(bin, "python")
	inFolder(t, folder, python, "-m", "pip", "install", "--no-index", "--no-deps", "--disable-pip-version-check", wheel)
	if got := inFolder(t, folder, filepath.Join(bin, "stepline"), "version"); !strings.HasPrefix(got, "stepline v9.8.7-3-g0123abc ") {
		t.Errorf("version %q", got)
	}
	if got := inFolder(t, folder, python, "-c", "import stepline; print(stepline.__version__, stepline.find_program())"); got != "9.8.7.post3+g0123abc "+filepath.Join(bin, "stepline")+"\n" {
		t.Errorf("import: %q", got)
	}
	if got := inFolder(t, folder, python, "-m", "pip", "show", "--files", "stepline"); !strings.Contains(got, "Version: 9.8.7.post3+g0123abc\n") || !strings.Contains(got, "bin/stepline") {
		t.Errorf("pip show: %s", got)
	}
	script := "import torch\nfor x in loader:\n    loss = model(x.cuda())\n    loss.backward()\n    opt.step()\n    print(loss.item())\n"
	if err := os.WriteFile(filepath.Join(folder, "train.py"), []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(python, "-m", "stepline", "check", "train.py")
	command.Dir = folder
	output, err := command.CombinedOutput()
	if command.ProcessState.ExitCode() != 1 || !strings.Contains(string(output), "train.py:6:") {
		t.Errorf("python -m stepline check: %v\n%s", err, output)
	}
	if exec.Command(python, "-c", "import torch").Run() == nil {
		inFolder(t, folder, python, "-c", "import stepline\nwith stepline.watch('captures', signal=None) as w:\n    w.step(loss=1.0)")
	}
	inFolder(t, folder, python, "-m", "pip", "uninstall", "--yes", "--disable-pip-version-check", "stepline")
	if left, _ := filepath.Glob(filepath.Join(folder, "venv", "lib", "python*", "site-packages", "stepline*")); len(left) > 0 {
		t.Errorf("uninstalling leaves %v", left)
	}
}

// checkBill compares the bill with go.mod: every module in it is one that go.mod names, at that version, and the direct
// requirements that the command imports are there.
func checkBill(t *testing.T, path string) {
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var bill struct {
		Components []struct{ Name, Version string }
	}
	if err := json.Unmarshal(data, &bill); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	module, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		t.Fatal(err)
	}
	required := map[string]string{}
	for _, require := range module.Require {
		required[require.Mod.Path] = require.Mod.Version
	}
	var names []string
	for _, c := range bill.Components {
		names = append(names, c.Name)
		if c.Name != "std" && required[c.Name] != c.Version {
			t.Errorf("%s %s: go.mod has %q", c.Name, c.Version, required[c.Name])
		}
	}
	imported := inFolder(t, "..", "go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}", "./cmd/stepline")
	for _, name := range strings.Fields(imported) {
		if !slices.Contains(names, name) {
			t.Errorf("the bill lacks %s", name)
		}
	}
	if len(names) < 20 {
		t.Errorf("only %d components", len(names))
	}
}

// TestGoInstall installs from the checkout, as README says.
func TestGoInstall(t *testing.T) {
	if os.Getenv("STEPLINE_RELEASE") == "" {
		t.Skip("`make test-release` runs this")
	}
	bin := t.TempDir()
	command := exec.Command("go", "install", "./cmd/stepline")
	command.Dir = ".."
	command.Env = append(os.Environ(), "GOBIN="+bin)
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	got := inFolder(t, bin, filepath.Join(bin, hostPlatform().program()), "version")
	if !regexp.MustCompile(`^stepline \S+ \(go1\.\d+`).MatchString(got) {
		t.Errorf("version %q", got)
	}
}

func find(t *testing.T, folder, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(folder, pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s in %s: %v, %v", pattern, folder, found, err)
	}
	return found[0]
}

func inFolder(t *testing.T, folder, name string, arguments ...string) string {
	t.Helper()
	command := exec.Command(name, arguments...)
	command.Dir = folder
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, arguments, err, output)
	}
	return string(output)
}
