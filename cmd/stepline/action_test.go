package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// action is what the tests read of action.yml (https://docs.github.com/actions/reference/metadata-syntax-for-github-actions).
type action struct {
	Name, Description string
	Inputs            map[string]struct {
		Description string
		Default     *string
		Required    bool
	}
	Runs struct {
		Using string
		Steps []struct {
			Uses, If, Shell, Run string
			WorkingDirectory     string `yaml:"working-directory"`
			With, Env            map[string]string
		}
	}
}

var expression = regexp.MustCompile(`\$\{\{\s*([a-z_.-]+)\s*\}\}`)

// TestAction reads action.yml and runs its shell steps as a runner does: each with bash -eo pipefail, its inputs in the
// environment. The program that it builds then serves pre-commit's system hooks.
func TestAction(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(repository, "action.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var a action
	if err := yaml.Unmarshal(text, &a); err != nil {
		t.Fatal(err)
	}
	if a.Name == "" || a.Description == "" || a.Runs.Using != "composite" {
		t.Fatalf("not a composite action: %+v", a)
	}
	for name, input := range a.Inputs {
		if input.Description == "" || input.Default == nil && !input.Required {
			t.Errorf("input %s has no description, or no default", name)
		}
	}
	runner := t.TempDir()
	slow, fast := testdata(t, "traces", "vision", "trace.json.gz"), testdata(t, "traces", "vision_workers", "trace.json.gz")
	workspace := testdata(t, "traces", "vision")
	for _, test := range []struct {
		name          string
		inputs        map[string]string
		codes         []int // of build, check, diff; -1 where a step is left out
		says, summary string
	}{
		{"findings and a faster run", map[string]string{"paths": "train.py data.py", "trace": fast, "base-trace": slow, "fail-above": "3%"},
			[]int{0, exitFindings, 0}, "::warning file=train.py", "faster by"},
		{"slower", map[string]string{"paths": "data.py", "trace": slow, "base-trace": fast, "fail-above": "3%"}, []int{0, exitFindings, exitFindings}, "DAT005", "slower by"},
		{"lint alone", map[string]string{"paths": "train.py"}, []int{0, exitFindings, -1}, "::", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			context := map[string]string{"github.action_path": repository}
			for name, input := range a.Inputs {
				context["inputs."+name] = ""
				if input.Default != nil {
					context["inputs."+name] = *input.Default
				}
				if value, given := test.inputs[name]; given {
					context["inputs."+name] = value
				}
			}
			fill := func(text string) string {
				return expression.ReplaceAllStringFunc(text, func(mark string) string {
					value, known := context[expression.FindStringSubmatch(mark)[1]]
					if !known {
						t.Errorf("%s is no input of the action", mark)
					}
					return value
				})
			}
			summary := filepath.Join(t.TempDir(), "summary.md")
			codes, said := []int{}, ""
			for _, step := range a.Runs.Steps {
				if step.Uses != "" {
					if version := fill(step.With["go-version-file"]); strings.HasPrefix(step.Uses, "actions/setup-go@") {
						if _, err := os.Stat(version); err != nil {
							t.Error(err)
						}
					}
					continue
				}
				if step.If != "" && (context["inputs.base-trace"] == "" || context["inputs.trace"] == "") {
					codes = append(codes, -1)
					continue
				}
				if step.Shell != "bash" {
					t.Fatalf("a composite action's step needs its shell: %+v", step)
				}
				command := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step.Run)
				command.Dir = workspace
				if step.WorkingDirectory != "" {
					command.Dir = fill(step.WorkingDirectory)
				}
				command.Env = append(os.Environ(), "RUNNER_TEMP="+runner, "GITHUB_STEP_SUMMARY="+summary, "GOFLAGS=-buildvcs=false")
				for name, value := range step.Env {
					command.Env = append(command.Env, name+"="+fill(value))
				}
				out, err := command.CombinedOutput()
				var exit *exec.ExitError
				if err != nil && !errors.As(err, &exit) {
					t.Fatal(err)
				}
				codes = append(codes, command.ProcessState.ExitCode())
				said += string(out)
			}
			if !slices.Equal(codes, test.codes) {
				t.Errorf("exit codes %v, want %v", codes, test.codes)
			}
			written, _ := os.ReadFile(summary)
			if !strings.Contains(said, test.says) || !strings.Contains(string(written), test.summary) {
				t.Errorf("%q is not in the output, or %q not in the summary:\n%s\n%s", test.says, test.summary, said, written)
			}
			if t.Failed() {
				t.Log(said)
			}
		})
	}
	t.Run("pre-commit", func(t *testing.T) { preCommit(t, runner) })
}

// needPreCommit is the program that scripts/pre-commit.sh installs; CI must have it.
func needPreCommit(t *testing.T) string {
	t.Helper()
	program := filepath.Join(repository, ".cache", "pre-commit", "bin", "pre-commit")
	if _, err := os.Stat(program); err == nil {
		return program
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("no pre-commit: scripts/pre-commit.sh installs it")
	}
	t.Skip("no pre-commit: scripts/pre-commit.sh installs it")
	return ""
}

// preCommit runs the hooks as a user of pre-commit does, in a repository that takes them from this one's last commit: those
// built by pre-commit, and those that run the program in folder.
func preCommit(t *testing.T, folder string) {
	program := needPreCommit(t)
	sample := t.TempDir()
	environment := append(os.Environ(),
		"PRE_COMMIT_HOME="+t.TempDir(), "PATH="+folder+string(os.PathListSeparator)+os.Getenv("PATH"), "GIT_CONFIG_GLOBAL="+os.DevNull,
		"GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@example.org", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@example.org",
		// pre-commit sets GOPATH to a folder of its own: the modules that are here need no second download.
		"GOMODCACHE="+goEnvironment(t, "GOMODCACHE"), "GOFLAGS=-buildvcs=false")
	run := func(code int, name string, arguments ...string) string {
		t.Helper()
		command := exec.Command(name, arguments...)
		command.Dir, command.Env = sample, environment
		out, err := command.CombinedOutput()
		if command.ProcessState == nil {
			t.Fatal(err)
		}
		if command.ProcessState.ExitCode() != code {
			t.Fatalf("%s %v: exit %d, want %d\n%s", name, arguments, command.ProcessState.ExitCode(), code, out)
		}
		return string(out)
	}
	commit := strings.TrimSpace(run(0, "git", "-C", repository, "rev-parse", "HEAD"))
	config := "repos:\n- repo: file://" + repository + "\n  rev: " + commit + "\n  hooks:\n" +
		"  - id: stepline\n  - id: stepline-system\n  - id: stepline-fix-system\n" +
		"  - id: stepline-loader\n    args: [--runs, '2', --loader-budget, 1s, --, sh, -c, 'exit 9']\n"
	const train = `import torch

model = torch.nn.Linear(4, 4).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for batch in torch.utils.data.DataLoader(torch.randn(64, 4)):
    optimizer.zero_grad(set_to_none=False)
    loss = model(torch.zeros(4, 4).to("cuda")).sum()
    loss.backward()
    optimizer.step()
    print(loss.item())
`
	for name, text := range map[string]string{".pre-commit-config.yaml": config, "train.py": train, "notes.txt": "loss.item()\n"} {
		if err := os.WriteFile(filepath.Join(sample, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run(0, "git", "init", "-q", ".")
	run(0, "git", "add", ".")
	run(0, program, "validate-manifest", filepath.Join(repository, ".pre-commit-hooks.yaml"))
	hooks := []string{"stepline-system"}
	if os.Getenv("CI") == "true" { // pre-commit compiles a clone of the repository: a minute of a core
		hooks = append(hooks, "stepline")
	}
	for _, hook := range hooks {
		if out := run(1, program, "run", hook, "--all-files"); !strings.Contains(out, "train.py:10") || !strings.Contains(out, "SYN001") || strings.Contains(out, "notes.txt") {
			t.Errorf("%s says:\n%s", hook, out)
		}
	}
	if out := run(1, program, "run", "stepline-fix-system", "--all-files"); !strings.Contains(out, "files were modified by this hook") {
		t.Errorf("the fixing hook says:\n%s", out)
	}
	if fixed, err := os.ReadFile(filepath.Join(sample, "train.py")); err != nil || !strings.Contains(string(fixed), `torch.zeros(4, 4, device="cuda")`) {
		t.Errorf("%v; fixed:\n%s", err, fixed)
	}
	if out := run(1, program, "run", "stepline-loader", "--all-files", "--hook-stage", "manual"); !strings.Contains(out, "exit code 9") {
		t.Errorf("the loader's hook says:\n%s", out)
	}
}

func goEnvironment(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
