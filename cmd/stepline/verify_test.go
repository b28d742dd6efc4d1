package main

import (
	"strings"
	"testing"
)

// printing is a command line that prints steps of some milliseconds with a loss; runs differ a little by the process's number.
func printing(milliseconds, loss string) string {
	return "for i in 1 2 3 4; do echo step " + milliseconds + ".$(($$ % 10)) ms loss " + loss + "; done"
}

// TestVerify compares two commands as a user does, in every format, with every exit code.
func TestVerify(t *testing.T) {
	verify := func(base string, arguments ...string) outcome {
		t.Helper()
		line := append([]string{"verify", "--runs", "3", "--warmup", "1", "--base-command", base, "--step-pattern", `step (?P<ms>[\d.]+) ms`, "--loss-pattern", `loss (\S+)`}, arguments...)
		return stepline(t, t.TempDir(), "", nil, line...)
	}
	faster := verify(printing("90", "1.5"), "--", "sh", "-c", printing("30", "1.5"))
	if faster.code != exitFine || !strings.HasPrefix(faster.out, "faster by 6") || !strings.Contains(faster.out, "losses: all 4 are equal") {
		t.Errorf("exit %d:\n%s%s", faster.code, faster.out, faster.errout)
	}
	slower := verify(printing("30", "1.5"), "--fail-above", "3%", "--format", "json", "--", "sh", "-c", printing("90", "1.5"))
	if document := fitsSchema(t, "verify", slower.out); slower.code != exitFindings || document["verdict"] != "slower" || document["failed"] != true {
		t.Errorf("exit %d:\n%s%s", slower.code, slower.out, slower.errout)
	}
	differ := verify(printing("30", "1.5"), "--format", "markdown", "--", "sh", "-c", printing("30", "1.6"))
	if differ.code != exitFindings || !strings.HasPrefix(differ.out, "### results differ; ") || !strings.Contains(differ.out, "| step time |") {
		t.Errorf("exit %d:\n%s%s", differ.code, differ.out, differ.errout)
	}
	if ignored := verify(printing("30", "1.5"), "--no-losses", "--", "sh", "-c", printing("30", "1.6")); ignored.code != exitFine {
		t.Errorf("exit %d:\n%s%s", ignored.code, ignored.out, ignored.errout)
	}
	failing := verify(printing("30", "1.5"), "--", "sh", "-c", "echo no data for \x1b[31m this; exit 4")
	if failing.code != exitUsage || failing.out != "" || !strings.Contains(failing.errout, "  | no data for ") || strings.Contains(failing.errout, "\x1b") ||
		!strings.Contains(failing.errout, "failed in its run 1 with exit code 4") {
		t.Errorf("exit %d:\n%s%s", failing.code, failing.out, failing.errout)
	}
	whole := stepline(t, t.TempDir(), "", nil, "verify", "--wall", "--runs", "2", "--warmup", "0", "--base-command", "true", "--", "true")
	if whole.code != exitFine || !strings.Contains(whole.out, "a run, mean and standard deviation of 2 runs, timed from start to end") || !strings.Contains(whole.out, "losses: none were seen") {
		t.Errorf("exit %d:\n%s%s", whole.code, whole.out, whole.errout)
	}
}

func TestVerifyWrongUse(t *testing.T) {
	for _, test := range []struct {
		says      string
		arguments []string
	}{
		{"stepline verify --base main -- python bench.py", nil},
		{"name the base", []string{"--", "true"}},
		{"2 or more", []string{"--runs", "1", "--base-command", "true", "--", "true"}},
		{"text, markdown or json", []string{"--format", "pdf", "--base-command", "true", "--", "true"}},
		{"do not go together", []string{"--base", "main", "--base-command", "true", "--", "true"}},
		{"needs --base", []string{"--new", "main", "--", "true"}},
		{"a group named ms", []string{"--base-command", "true", "--step-pattern", "x", "--", "true"}},
		{"needs a group", []string{"--base-command", "true", "--loss-pattern", "x", "--", "true"}},
		{"3%", []string{"--base-command", "true", "--fail-above", "much", "--", "true"}},
		{"0.1%", []string{"--base-command", "true", "--loss-tolerance", "much", "--", "true"}},
		{"which only --base makes", []string{"--copy", "x", "--base-command", "true", "--", "true"}},
		{"no git repository", []string{"--base", "main", "--", "true"}},
	} {
		got := stepline(t, t.TempDir(), "", nil, append([]string{"verify"}, test.arguments...)...)
		if got.code != exitUsage || got.out != "" {
			t.Errorf("%v: exit %d with output %q", test.arguments, got.code, got.out)
		}
		oneLine(t, got.errout, test.says)
	}
}
