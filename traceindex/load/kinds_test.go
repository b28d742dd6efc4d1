package load

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stepline/traceindex"
)

const besideCases = "../../testdata/cases/"

// TestBesideAlone: inputs that are no traces make a run by themselves only where that is asked for.
func TestBesideAlone(t *testing.T) {
	for path, kind := range map[string]traceindex.FileKind{
		besideCases + "73-ncu-csv/raw.csv":           traceindex.FileNsightCompute,
		besideCases + "74-nccl-log/nccl.log":         traceindex.FileNCCLLog,
		besideCases + "75-memory-snapshot/p2.pickle": traceindex.FileMemorySnapshot,
		besideCases + "75-memory-snapshot/p5.pickle": traceindex.FileMemorySnapshot,
		"../memsnap/testdata/growing.pickle.gz":      traceindex.FileMemorySnapshot,
		"../ncu/testdata/gpt.ncu.details.csv.gz":     traceindex.FileNsightCompute,
	} {
		run, err := Open(context.Background(), []string{path}, Options{})
		if run != nil || err == nil || !strings.Contains(err.Error(), "beside a trace") {
			t.Errorf("%s: %v, %v", path, run, err)
		}
		run, err = Open(context.Background(), []string{path}, Options{BesideAlone: true})
		if err != nil || run == nil || len(run.Ranks) != 0 || len(run.Beside) != 1 || run.Beside[0].Kind != kind {
			t.Errorf("%s alone: %+v, %v", path, run, err)
		}
	}
}

// TestPickles: a pickle named outright says what is wrong with it; in a folder it is passed over.
func TestPickles(t *testing.T) {
	hostile := besideCases + "75-memory-snapshot/hostile.pickle"
	_, err := Open(context.Background(), []string{hostile}, Options{BesideAlone: true})
	if err == nil || !strings.Contains(err.Error(), "names a function: posix.system") || strings.Contains(err.Error(), "\n") || strings.Count(err.Error(), "hostile.pickle") != 1 {
		t.Errorf("%v", err)
	}
	dir := t.TempDir()
	for _, path := range []string{hostile, besideCases + "70-nsys-no-nvtx/input.sqlite"} {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(path)), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(besideCases + "74-nccl-log/nccl.log")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "nccl.log"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	run, err := Open(context.Background(), []string{filepath.Join(dir, "*")}, Options{})
	if err != nil || len(run.Ranks) != 1 || len(run.Beside) != 1 {
		t.Errorf("by pattern: %+v, %v", run, err)
	}
	run, err = Open(context.Background(), []string{dir}, Options{})
	if err != nil || len(run.Ranks) != 1 || len(run.Beside) != 0 {
		t.Errorf("%+v, %v", run, err)
	}
}
