package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCasesBesideTraces runs the cases of Nsight Systems, Nsight Compute, NCCL and memory inputs as a user would.
func TestCasesBesideTraces(t *testing.T) {
	cases := testdata(t, "cases")
	for _, test := range []struct {
		name      string
		arguments []string
		code      int
		out, err  []string // what must be there
		not       []string // and what must not
	}{
		{"70, lines", []string{"lines", "70-nsys-no-nvtx/input.sqlite"}, 0, []string{"GPU work 50.0 µs"}, []string{"no NVTX ranges"}, nil},
		{"70, report", []string{"report", "70-nsys-no-nvtx/input.sqlite"}, 0, []string{"GPU work 50.0 µs"}, []string{"no NVTX ranges"}, nil},
		{"70, without kernels", []string{"lines", "70-nsys-no-nvtx/no-kernels.sqlite"}, 0, []string{"no GPU work recorded"}, nil, nil},
		{"70, report without kernels", []string{"report", "70-nsys-no-nvtx/no-kernels.sqlite"}, 0, []string{"the trace says nothing of the GPU"}, nil, []string{"GPU busy", "launch bound"}},
		{"72, lines", []string{"lines", "72-nsys-idle-two-streams/input.sqlite"}, 0, []string{"GPU work 600 µs, GPU idle 50.0 µs"}, nil, nil},
		{"72, report", []string{"report", "72-nsys-idle-two-streams/input.sqlite"}, 0, []string{"GPU busy 90.0 %", "150 µs of each 500 µs step"}, nil, []string{"idle 200 µs"}},
		{"70 and 72, diff", []string{"diff", "70-nsys-no-nvtx/input.sqlite", "--with", "72-nsys-idle-two-streams/input.sqlite"}, 0, []string{"ncclDevKernel_AllReduce"}, nil, nil},
		{"73, lines", []string{"lines", "73-ncu-csv/details.csv"}, 0, []string{"2 launches from 73-ncu-csv/details.csv", "void gemm<float, 128, 64>(float *, int)", `add "quoted"`, "DRAM at 87.5 %"}, nil, []string{"occupancy 0"}},
		{"73, raw", []string{"report", "73-ncu-csv/raw.csv"}, 0, []string{"1 launch from 73-ncu-csv/raw.csv", "gemm", "71.2 %"}, nil, nil},
		{"74, lines", []string{"lines", "74-nccl-log/nccl.log"}, 0, []string{"NCCL 2.22.3+cuda12.6, 2 ranks on 1 host", "rank 1 never joined AllGather", "error 12"}, nil, nil},
		{"74, report", []string{"report", "74-nccl-log/nccl.log", "--format", "markdown"}, 0, []string{"collective-mismatch"}, nil, []string{"Bottleneck"}},
		{"75, lines", []string{"lines", "--memory", "75-memory-snapshot/p5.pickle"}, 0, []string{"peak 1.50 MiB, 1.00 MiB held", "2.00 MiB reserved", "/srv/app/train.py:21", "no Python frame"}, nil, nil},
		{"75, CSV", []string{"lines", "--memory", "75-memory-snapshot/p2.pickle", "--format", "csv"}, 0, []string{"\n/srv/app/train.py,21,step,1048576,1,"}, nil, nil},
		{"75, report", []string{"report", "75-memory-snapshot/p2.pickle", "--format", "html"}, 0, []string{"GPU memory (snapshot)", "data-line=\"21\"", "1.50 MiB"}, nil, nil},
		{"75, hostile", []string{"lines", "75-memory-snapshot/hostile.pickle"}, 2, nil, []string{"names a function: posix.system"}, nil},
		{"75, hostile report", []string{"report", "75-memory-snapshot/hostile.pickle"}, 2, nil, []string{"names a function: posix.system"}, nil},
		{"no snapshot", []string{"lines", "--memory", "74-nccl-log/nccl.log"}, 2, nil, []string{"--memory", "_dump_snapshot"}, nil},
		{"no comparison without traces", []string{"diff", "74-nccl-log/nccl.log", "--with", "74-nccl-log/nccl.log"}, 2, nil, []string{"beside a trace"}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			arguments := append(test.arguments, "--root", t.TempDir())
			got := stepline(t, cases, "", nil, arguments...)
			if got.code != test.code {
				t.Errorf("exit %d, want %d", got.code, test.code)
			}
			for _, part := range test.out {
				if !strings.Contains(got.out, part) {
					t.Errorf("%q is not in\n%s", part, got.out)
				}
			}
			for _, part := range test.err {
				if !strings.Contains(got.errout, part) {
					t.Errorf("%q is not in\n%s", part, got.errout)
				}
			}
			for _, part := range test.not {
				if strings.Contains(got.out, part) {
					t.Errorf("%q is in\n%s", part, got.out)
				}
			}
			if test.code == 2 {
				oneLine(t, got.errout)
			}
		})
	}
	if _, err := os.Stat(filepath.Join(os.TempDir(), "case-75-ran")); err == nil {
		t.Error("the hostile pickle was run")
	}
}

// TestBesideJSON: every kind of input fits the documented schema, alone and together.
func TestBesideJSON(t *testing.T) {
	root := t.TempDir()
	source, err := os.ReadFile(testdata(t, "traces", "gpt", "gpt.py"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "gpt.py"), source, 0o600); err != nil {
		t.Fatal(err)
	}
	trace, snapshot := testdata(t, "traces", "gpt", "trace.json.gz"), testdata(t, "traces", "gpt", "memory_snapshot.pickle.gz")
	profiled := filepath.Join(repository, "traceindex", "ncu", "testdata", "gpt.ncu.raw.csv.gz")
	log := filepath.Join(repository, "traceindex", "nccl", "testdata", "rank0.log")
	for _, test := range []struct {
		inputs []string
		parts  []string
	}{
		{[]string{trace}, nil},
		{[]string{trace, snapshot, profiled, log}, []string{"nsight_compute", "nccl", "memory"}},
		{[]string{snapshot}, []string{"memory"}},
		{[]string{profiled}, []string{"nsight_compute"}},
		{[]string{log}, []string{"nccl"}},
	} {
		for _, command := range []string{"lines", "report"} {
			got := stepline(t, root, "", map[string]string{}, append([]string{command, "--format", "json"}, test.inputs...)...)
			if got.code != 0 {
				t.Fatalf("%s %v: exit %d, %s", command, test.inputs, got.code, got.errout)
			}
			document := fitsSchema(t, command, got.out)
			beside, _ := document["beside"].(map[string]any)
			if len(beside) != len(test.parts) {
				t.Errorf("%s %v: parts %v", command, test.inputs, beside)
			}
			for _, part := range test.parts {
				files, _ := beside[part].(map[string]any)["files"].([]any)
				if len(files) != 1 {
					t.Errorf("%s: %s is from %v", command, part, files)
				}
			}
		}
	}
}
