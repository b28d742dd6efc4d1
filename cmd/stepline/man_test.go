package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func TestManPagesHaveEveryCommandAndFlag(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "man1")
	environment := map[string]string{"SOURCE_DATE_EPOCH": "1700000000"}
	if got := stepline(t, t.TempDir(), "", environment, "man", "--output", folder); got.code != 0 || got.out != "" {
		t.Fatalf("exit code %d: %s", got.code, got.errout)
	}
	text := func(name string) string {
		data, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(string(data), `\-`, "-")
	}
	root := text("stepline.1")
	pages := map[string]string{}
	everyFlag(testRoot(), func(cmd *cobra.Command, flag *pflag.Flag) {
		name := "stepline-" + cmd.Name()
		if pages[name] == "" {
			pages[name] = text(name + ".1")
			if !strings.Contains(root, name) {
				t.Errorf("stepline.1 does not name %s", name)
			}
		}
		if !flag.Hidden && !strings.Contains(pages[name], "--"+flag.Name) {
			t.Errorf("%s.1 does not have --%s", name, flag.Name)
		}
	})
	if page := pages["stepline-check"]; !strings.Contains(page, "Nov 2023") || strings.Contains(page, "Auto generated") {
		t.Error("stepline-check.1 has the wrong date, or says what made it")
	}
	printed := stepline(t, t.TempDir(), "", environment, "man", "check")
	if printed.code != 0 || strings.ReplaceAll(printed.out, `\-`, "-") != pages["stepline-check"] {
		t.Errorf("`stepline man check` prints another page than it writes: exit code %d, %s", printed.code, printed.errout)
	}
	man, err := exec.LookPath("man")
	if err != nil {
		t.Log("man is not here: the pages are not formatted")
		return
	}
	command := exec.Command(man, "--warnings", "-l", filepath.Join(folder, "stepline-check.1"))
	command.Env = append(os.Environ(), "MANPAGER=cat", "PAGER=cat", "LC_ALL=C.UTF-8")
	if output, err := command.CombinedOutput(); err != nil || strings.Contains(string(output), "warning") {
		t.Errorf("man: %v\n%s", err, output)
	}
}
