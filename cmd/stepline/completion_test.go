package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestMain lets the test binary be stepline itself, for tests that need the program: completion scripts call it.
func TestMain(m *testing.M) {
	if os.Getenv("STEPLINE_TEST_AS_PROGRAM") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// programFolder is a folder with a program `stepline` in it, to go in front of the PATH.
func programFolder(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	script := "#!/bin/sh\nSTEPLINE_TEST_AS_PROGRAM=1 exec '" + self + "' \"$@\"\n"
	if err := os.WriteFile(filepath.Join(folder, "stepline"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return folder
}

// everyFlag calls visit for each command and each of its flags.
func everyFlag(root *cobra.Command, visit func(cmd *cobra.Command, flag *pflag.Flag)) {
	for _, cmd := range root.Commands() {
		if cmd.IsAvailableCommand() {
			cmd.Flags().VisitAll(func(flag *pflag.Flag) { visit(cmd, flag) })
		}
	}
}

func testRoot() *cobra.Command {
	return newRootCommand(streams{in: strings.NewReader(""), out: &bytes.Buffer{}, err: &bytes.Buffer{}, environment: func(string) string { return "" }})
}

// completions asks stepline what can follow, as every completion script does.
func completions(t *testing.T, words ...string) []string {
	t.Helper()
	var out, errout bytes.Buffer
	io := streams{in: strings.NewReader(""), out: &out, err: &errout, environment: func(string) string { return "" }}
	if code := run(context.Background(), io, append([]string{"__completeNoDesc"}, words...)); code != 0 {
		t.Fatalf("%q: exit code %d: %s", words, code, errout.String())
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	return lines[:len(lines)-1] // the last one tells the shell what else to do
}

func TestCompletionsHaveEveryCommandAndFlag(t *testing.T) {
	commands := completions(t, "")
	flags := map[string][]string{}
	everyFlag(testRoot(), func(cmd *cobra.Command, flag *pflag.Flag) {
		if flags[cmd.Name()] == nil {
			flags[cmd.Name()] = completions(t, cmd.Name(), "--")
		}
		if !slices.Contains(commands, cmd.Name()) {
			t.Errorf("command %s is not offered", cmd.Name())
		}
		if name := "--" + flag.Name; !flag.Hidden && !slices.Contains(flags[cmd.Name()], name) && !slices.Contains(flags[cmd.Name()], name+"=") {
			t.Errorf("%s is not offered after %s: %q", name, cmd.Name(), flags[cmd.Name()])
		}
	})
	if len(flags) < 8 {
		t.Errorf("only %d commands have flags", len(flags))
	}
	for _, test := range []struct {
		words []string
		want  []string
	}{
		{[]string{"report", "--format", ""}, reportFormats},
		{[]string{"check", "--format", ""}, checkFormats},
		{[]string{"diff", "--format", ""}, diffFormats},
		{[]string{"check", "--color", ""}, []string{"auto", "always", "never"}},
		{[]string{"explain", "SYN00"}, []string{"SYN001"}},
		{[]string{"template", "nsight-c"}, []string{"nsight-compute"}},
		{[]string{"completion", "z"}, []string{"zsh"}},
		{[]string{"man", "rep"}, []string{"report"}},
	} {
		got := completions(t, test.words...)
		for _, word := range test.want {
			if !slices.Contains(got, word) {
				t.Errorf("%q: %q is not offered, only %q", test.words, word, got)
			}
		}
	}
}

// TestShellsComplete loads each script in its shell and completes a command line there.
func TestShellsComplete(t *testing.T) {
	tests := []struct {
		shell string
		// arguments run a program that loads the script $SCRIPT and prints what `stepline rep` and `stepline report --fo` become.
		arguments []string
		needs     string // a file that the shell needs besides itself
	}{
		{"bash", []string{"--norc", "-c", `
			source /usr/share/bash-completion/bash_completion
			source "$SCRIPT"
			complete_line() {
				COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE} COMP_TYPE=9 COMP_KEY=9
				"$(complete -p stepline | sed 's/.*-F \([^ ]*\).*/\1/')" stepline "${@: -1}"
				printf '%s\n' "${COMPREPLY[@]}"
			}
			complete_line stepline rep; complete_line stepline report --fo; complete_line stepline report --format js`}, "/usr/share/bash-completion/bash_completion"},
		{"zsh", []string{"-f", "-c", `
			autoload -Uz compinit; compinit -D -u
			_describe() { local name; for name in "$@"; do [[ ${(Pt)name} == array* ]] && print -l -- ${(P)name}; done }
			source "$SCRIPT"
			complete_line() { words=("$@"); CURRENT=$#words; _stepline }
			complete_line stepline rep; complete_line stepline report --fo; complete_line stepline report --format js`}, ""},
		{"fish", []string{"--no-config", "-c", `
			source $SCRIPT
			complete -C 'stepline rep'; complete -C 'stepline report --fo'; complete -C 'stepline report --format js'`}, ""},
	}
	folder := programFolder(t)
	for _, test := range tests {
		t.Run(test.shell, func(t *testing.T) {
			shell, err := exec.LookPath(test.shell)
			if err != nil {
				t.Skipf("%s is not here", test.shell)
			}
			if _, err := os.Stat(test.needs); test.needs != "" && err != nil {
				t.Skipf("%s is not here", test.needs)
			}
			var script bytes.Buffer
			io := streams{out: &script, err: &script, environment: os.Getenv}
			if code := run(context.Background(), io, []string{"completion", test.shell}); code != 0 {
				t.Fatalf("exit code %d: %s", code, script.String())
			}
			path := filepath.Join(t.TempDir(), "_stepline")
			if err := os.WriteFile(path, script.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
			command := exec.Command(shell, test.arguments...)
			command.Env = append(os.Environ(), "SCRIPT="+path, "HOME="+t.TempDir(), "PATH="+folder+string(os.PathListSeparator)+os.Getenv("PATH"))
			output, err := command.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, output)
			}
			for _, want := range []string{"report", "--format", "json"} {
				if !slices.ContainsFunc(strings.Split(string(output), "\n"), func(line string) bool { return strings.HasPrefix(line, want) }) {
					t.Errorf("%s is not completed: %s", want, output)
				}
			}
		})
	}
}

func TestCompletionErrors(t *testing.T) {
	for _, arguments := range [][]string{{"completion"}, {"completion", "tcsh"}, {"man", "chekc"}, {"man", "check", "--output", "x"}} {
		result := stepline(t, t.TempDir(), "", nil, arguments...)
		if result.code != exitUsage || strings.Count(result.errout, "\n") != 1 {
			t.Errorf("%q: exit code %d, %q", arguments, result.code, result.errout)
		}
	}
	if got := stepline(t, t.TempDir(), "", nil, "completion", "powershell"); got.code != 0 || !strings.Contains(got.out, "Register-ArgumentCompleter") {
		t.Errorf("powershell: exit code %d", got.code)
	}
}
