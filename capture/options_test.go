package capture_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"stepline/capture"
	"stepline/traceindex/recorder/recordertest"
)

// documented are the options that each tool's own documentation has, as far as the templates could use them: Nsight Systems
// User Guide (CLI profile and export options), Nsight Compute CLI, torchrun (torch.distributed.run, which takes - and _ alike
// from torch 2.0 and only _ before), nccl-tests README. A value in the list is the closed set of values.
var documented = map[string]map[string][]string{
	"nsys profile": {
		"--trace": {"cuda", "nvtx", "osrt", "cudnn", "cublas", "none", "mpi", "ucx", "python-gil"}, "--output": nil, "--force-overwrite": {"true", "false"},
		"--pytorch": {"autograd-nvtx", "autograd-shapes-nvtx", "functions-trace", "none"}, "--cudabacktrace": {"all", "none", "kernel", "memory", "sync", "other"},
		"--python-backtrace": {"cuda", "none"}, "--capture-range": {"cudaProfilerApi", "nvtx", "hotkey", "none"},
		"--capture-range-end": {"none", "stop", "stop-shutdown", "repeat", "repeat-shutdown"}, "--sample": nil, "--stats": nil,
	},
	"nsys export": {"--type": {"sqlite", "arrow", "hdf", "json", "text", "info", "parquetdir"}, "--force-overwrite": {"true", "false"}, "--output": nil},
	"ncu": {
		"--target-processes": {"all", "application-only"}, "--profile-from-start": {"on", "off", "yes", "no", "1", "0"}, "--kernel-name": nil,
		"--launch-count": nil, "--launch-skip": nil, "--set": {"basic", "detailed", "full", "none", "roofline", "default"}, "--csv": nil,
		"--page": {"details", "raw", "source", "session"}, "--log-file": nil,
	},
	"torchrun":        {"--nnodes": nil, "--nproc_per_node": nil, "--rdzv_backend": {"c10d", "etcd", "etcd-v2", "static"}, "--rdzv_endpoint": nil},
	"mpirun":          {"-np": nil},
	"all_reduce_perf": {"-b": nil, "-e": nil, "-f": nil, "-g": nil},
}

// flagsAlone take no value.
var flagsAlone = []string{"--csv"}

// commandLines are a template's commands, those that the recorder runs included: words, without redirections and environment.
func commandLines(t *testing.T, template capture.Template) [][]string {
	t.Helper()
	var lines [][]string
	add := func(text string) {
		for line := range strings.SplitSeq(text, "\n") {
			line, _, _ = strings.Cut(line, " 2>")
			line, _, _ = strings.Cut(line, " > ")
			words := strings.Fields(line)
			for len(words) > 0 && strings.Contains(words[0], "=") {
				words = words[1:]
			}
			if len(words) > 0 && !strings.HasPrefix(words[0], "#") {
				lines = append(lines, words)
			}
		}
	}
	if template.Shell != "" {
		text, err := template.Render("sh", nil)
		if err != nil {
			t.Fatal(err)
		}
		add(text)
	}
	plan, err := template.Plan(nil, false)
	if err != nil {
		t.Fatal(err)
	}
	add(strings.Join(append(slices.Clone(plan.Tool), plan.Command...), " "))
	add(strings.Join(plan.After, " "))
	return lines
}

// tools cuts a command line into the tools it runs: what follows `--`, the profiled program and mpirun's program are their own.
func tools(words []string) [][]string {
	starts := []string{"stepline", "nsys", "ncu", "torchrun", "mpirun", "all_reduce_perf", "python", "mkdir"}
	var parts [][]string
	for _, word := range words {
		if slices.Contains(starts, word) {
			parts = append(parts, nil)
		}
		if word == "--" || len(parts) == 0 {
			continue
		}
		parts[len(parts)-1] = append(parts[len(parts)-1], word)
	}
	return parts
}

// TestDocumentedOptions holds every option of every generated command line against what the tool's documentation has.
func TestDocumentedOptions(t *testing.T) {
	seen := map[string]bool{}
	for _, template := range all(t) {
		for _, words := range commandLines(t, template) {
			for _, part := range tools(words) {
				tool, rest := part[0], part[1:]
				if tool == "nsys" {
					tool, rest = tool+" "+rest[0], rest[1:]
				}
				options, known := documented[tool]
				if !known {
					continue // stepline's own are tried on the real command, in cmd/stepline
				}
				seen[tool] = true
				checkOptions(t, template.Name, tool, rest, options)
			}
		}
	}
	for tool := range documented {
		if !seen[tool] {
			t.Errorf("no template runs %s", tool)
		}
	}
}

func checkOptions(t *testing.T, template, tool string, words []string, options map[string][]string) {
	t.Helper()
	for i, word := range words {
		if !strings.HasPrefix(word, "-") {
			continue
		}
		name, value, joined := strings.Cut(word, "=")
		values, known := options[name]
		if !known {
			t.Errorf("%s: %s has no option %s", template, tool, name)
			continue
		}
		if !joined && !slices.Contains(flagsAlone, name) {
			if i+1 == len(words) {
				t.Errorf("%s: %s %s has no value", template, tool, name)
				continue
			}
			value = words[i+1]
		}
		for part := range strings.SplitSeq(value, ",") {
			if part, _, _ = strings.Cut(part, ":"); values != nil && !slices.Contains(values, part) {
				t.Errorf("%s: %s %s does not take %q", template, tool, name, part)
			}
		}
	}
	joined := strings.Join(words, " ")
	if strings.Contains(joined, "--python-backtrace=cuda") && !strings.Contains(joined, "--cudabacktrace=") {
		t.Errorf("%s: nsys takes Python backtraces only where CUDA ones are on (--cudabacktrace)", template)
	}
	if strings.Contains(joined, "--pytorch=autograd-nvtx") && !strings.Contains(joined, "nvtx,") {
		t.Errorf("%s: autograd's NVTX ranges need --trace=nvtx", template)
	}
}

// TestTorchrunParses has torch's own parser read every torchrun line.
func TestTorchrunParses(t *testing.T) {
	python := recordertest.Python(t)
	var lines []string
	for _, template := range all(t) {
		for _, words := range commandLines(t, template) {
			for _, part := range tools(words) {
				if part[0] == "torchrun" {
					lines = append(lines, strings.Join(part[1:], " "))
				}
			}
		}
	}
	if len(lines) < 4 {
		t.Fatalf("only %d torchrun lines", len(lines))
	}
	run := exec.Command(python, "-c", `import sys
from torch.distributed.run import get_args_parser
for line in sys.stdin:
    parsed = get_args_parser().parse_args(line.split())
    assert parsed.training_script == "train.py", parsed`)
	run.Stdin = strings.NewReader(strings.Join(lines, "\n"))
	if output, err := run.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
}

func TestPlan(t *testing.T) {
	plan := func(name string, own bool, settings map[string]string) (*capture.Plan, error) {
		template, err := capture.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		return template.Plan(settings, own)
	}
	p, err := plan("ddp", false, map[string]string{"gpus": "2", "steps": "7", "script": "fit.py"})
	if err != nil || p.Steps != 7 || p.Warmup != 3 || strings.Join(p.Command, " ") != "torchrun --nproc_per_node 2 fit.py" || p.Output != "ddp-traces" {
		t.Errorf("%+v, %v", p, err)
	}
	// What a shell would take apart stays one word.
	p, err = plan("nsight-compute", false, map[string]string{"script": "my train.py", "kernel": "gemm|soft max", "output": "a&b"})
	if err != nil || !slices.Equal(p.Command, []string{"python", "my train.py"}) || !slices.Contains(p.Tool, "regex:gemm|soft max") || p.Load != "stepline lines trace.json.gz 'a&b'.csv" {
		t.Errorf("%+v, %v", p, err)
	}
	if p, err = plan("nccl", true, nil); err != nil || !slices.Contains(p.Environment, "NCCL_DEBUG=INFO") || p.Steps != 0 || p.Warmup != -1 {
		t.Errorf("%+v, %v", p, err)
	}
	if p, err = plan("nsight-systems", true, nil); err != nil || len(p.Tool) < 5 || p.Tool[0] != "nsys" || p.After[1] != "export" {
		t.Errorf("%+v, %v", p, err)
	}
	for says, attempt := range map[string]func() error{
		"the command after `--` is yours": func() error { _, err := plan("ddp", true, map[string]string{"gpus": "2"}); return err },
		"number of steps":                 func() error { _, err := plan("quick", true, map[string]string{"steps": "many"}); return err },
		"has no setting":                  func() error { _, err := plan("quick", true, map[string]string{"gpus": "2"}); return err },
	} {
		if err := attempt(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("want %q, got %v", says, err)
		}
	}
	for _, template := range all(t) {
		if p, err := template.Plan(nil, false); err != nil || len(p.Command) == 0 || p.Output == "" {
			t.Errorf("%s cannot be recorded: %+v, %v", template.Name, p, err)
		}
	}
}
