package capture_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"stepline/capture"
	"stepline/traceindex/recorder/recordertest"
)

func all(t *testing.T) []capture.Template {
	t.Helper()
	list, err := capture.All()
	if err != nil {
		t.Fatal(err)
	}
	if len(list) < 10 {
		t.Fatalf("%d templates, want ten", len(list))
	}
	return list
}

func TestEveryTemplateIsComplete(t *testing.T) {
	for _, template := range all(t) {
		if template.Title == "" || template.Why == "" || template.Overhead == "" || template.Load == "" || template.Shell+template.Python == "" {
			t.Errorf("%s leaves something out", template.Name)
		}
		for _, format := range template.Formats() {
			text, err := template.Render(format, nil)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(text, "<<") || strings.Contains(text, ">>") {
				t.Errorf("%s as %s: a setting without a value:\n%s", template.Name, format, text)
			}
			for _, setting := range template.Settings {
				if changed, err := template.Render(format, map[string]string{setting.Name: "4711"}); err != nil || format != "python" && format != "sh" && changed == text {
					t.Errorf("%s: --set %s changes nothing (%v)", template.Name, setting.Name, err)
				}
			}
		}
		var decoded map[string]any
		text, err := template.Render("yaml", nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal([]byte(text), &decoded); err != nil || decoded["name"] != template.Name {
			t.Errorf("%s: not YAML: %v", template.Name, err)
		}
	}
}

func TestWrongUse(t *testing.T) {
	template, err := capture.Find("quick")
	if err != nil {
		t.Fatal(err)
	}
	for name, attempt := range map[string]func() error{
		"there is no template": func() error { _, err := capture.Find("fast"); return err },
		"it has script":        func() error { _, err := template.Render("", map[string]string{"stepz": "1"}); return err },
		"sh, python, yaml":     func() error { _, err := template.Render("json", nil); return err },
		"quotes":               func() error { _, err := template.Render("", map[string]string{"script": "a'; rm -rf ~"}); return err },
	} {
		if err := attempt(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("want an error with %q, got %v", name, err)
		}
	}
}

// TestShellKeepsValues has a shell run every printed command line with values that it would take apart, each program in place of
// which a function shows its arguments: a value arrives as it was given.
func TestShellKeepsValues(t *testing.T) {
	const value = "a b;echo &|c*>(d)#~"
	for _, template := range all(t) {
		if template.Shell == "" {
			continue
		}
		settings := map[string]string{}
		for _, setting := range template.Settings {
			settings[setting.Name] = value
		}
		text, err := template.Render("sh", settings)
		if err != nil {
			t.Fatal(err)
		}
		run := exec.Command("sh", "-eu", "-c", `show() { for word; do echo "word $word"; done >&3; }
stepline() { show "$@"; }; nsys() { show "$@"; }; ncu() { show "$@"; }; mpirun() { show "$@"; }; mkdir() { command mkdir "$@"; show "$@"; }
exec 3>shown
`+text)
		run.Dir = t.TempDir()
		if output, err := run.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s\n%s", template.Name, err, output, text)
			continue
		}
		shown, err := os.ReadFile(filepath.Join(run.Dir, "shown"))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(shown)) {
			if word := strings.TrimSuffix(strings.TrimPrefix(line, "word "), "\n"); strings.Contains(word, "echo") != strings.Contains(word, value) {
				t.Errorf("%s takes a value apart: %q", template.Name, word)
			}
		}
		if !strings.Contains(string(shown), value) {
			t.Errorf("%s: no value arrives:\n%s", template.Name, shown)
		}
	}
}

// TestShellParses has a shell read every command without running it, and looks for the mistakes people make with the tools.
func TestShellParses(t *testing.T) {
	for _, template := range all(t) {
		if template.Shell == "" {
			continue
		}
		text, err := template.Render("sh", nil)
		if err != nil {
			t.Fatal(err)
		}
		check := exec.Command("sh", "-n")
		check.Stdin = strings.NewReader(text)
		if output, err := check.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", template.Name, err, output)
		}
		for mistake, why := range map[string]string{
			"NCCL_DEBUGINFO": "the variable is NCCL_DEBUG", "NCCL_TRACE_FILE": "the variable is NCCL_DEBUG_FILE",
			"all_reduce_perf -g ": "one process and one GPU test nothing: mpirun -np N … -g 1",
		} {
			if strings.Contains(text, mistake) {
				t.Errorf("%s has %s: %s", template.Name, mistake, why)
			}
		}
		if strings.Contains(text, "capture-range=cudaProfilerApi") && !strings.Contains(text, "torch.cuda.profiler.start()") {
			t.Errorf("%s waits for the profiler API and does not say who calls it", template.Name)
		}
	}
}

// prelude gives a snippet the two names it takes from the user's script.
const prelude = `import torch
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.zeros(40, 4)))
def train_step(batch):
    optimizer.zero_grad()
    model(batch[0]).sum().backward()
    optimizer.step()
`

// TestPythonRuns runs every snippet on a CPU torch, each in a folder of its own; what needs a GPU must say so.
func TestPythonRuns(t *testing.T) {
	python := recordertest.Python(t)
	for _, template := range all(t) {
		if template.Python == "" {
			continue
		}
		t.Run(template.Name, func(t *testing.T) {
			text, err := template.Render("python", nil)
			if err != nil {
				t.Fatal(err)
			}
			folder := t.TempDir()
			run := exec.Command(python, "-c", prelude+text)
			run.Dir = folder
			output, err := run.CombinedOutput()
			if template.Name == "memory" {
				if err == nil || !strings.Contains(string(output), "needs a GPU") {
					t.Skip("this machine has a GPU; the snapshot was made")
				}
				return
			}
			if err != nil {
				t.Fatalf("%v\n%s", err, output)
			}
			if strings.Contains(text, "export_chrome_trace") {
				traces, err := filepath.Glob(filepath.Join(folder, "*trace*.json.gz"))
				nested, err2 := filepath.Glob(filepath.Join(folder, "*", "*trace.json.gz"))
				if err != nil || err2 != nil || len(traces)+len(nested) == 0 {
					t.Errorf("no trace was written:\n%s", output)
				}
			}
		})
	}
}

func ExampleTemplate_Render() {
	template, err := capture.Find("quick")
	if err != nil {
		panic(err)
	}
	text, err := template.Render("sh", map[string]string{"script": "fit.py", "steps": "3"})
	if err != nil {
		panic(err)
	}
	fmt.Println(text[strings.LastIndex(text, "\n\n")+2:])
	// Output:
	// stepline record --warmup 3 --steps 3 --output quick-trace -- python fit.py
}
