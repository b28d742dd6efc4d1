package attribute_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	_ "modernc.org/sqlite" // writes the exports

	"stepline/traceindex"
	"stepline/traceindex/attribute"
	"stepline/traceindex/nsys"
)

// nsysExport builds an Nsight Systems export event by event.
type nsysExport struct {
	statements  []string
	strings     map[string]int
	correlation int
	chains      int
}

const nsysProcess, nsysMain, nsysEngine = 1 << 24, 1<<24 + 11, 1<<24 + 12

func newExport() *nsysExport {
	return &nsysExport{strings: map[string]int{}, statements: []string{
		`CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)`,
		`CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, contextId INT, streamId INT, correlationId INT, globalPid INT, demangledName INT, shortName INT, gridX INT, gridY INT, gridZ INT, blockX INT, blockY INT, blockZ INT)`,
		`CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, globalTid INT, correlationId INT, nameId INT, returnValue INT, callchainId INT)`,
		`CREATE TABLE NVTX_EVENTS (start INT, end INT, eventType INT, rangeId INT, text TEXT, globalTid INT, endGlobalTid INT, textId INT, domainId INT)`,
		`CREATE TABLE CUDA_CALLCHAINS (id INT, symbol INT, module INT, stackDepth INT)`,
	}}
}

func (e *nsysExport) text(s string) int {
	if e.strings[s] == 0 {
		e.strings[s] = len(e.strings) + 1
		e.statements = append(e.statements, fmt.Sprintf(`INSERT INTO StringIds VALUES (%d, '%s')`, e.strings[s], s))
	}
	return e.strings[s]
}

// launch is a call of cudaLaunchKernel with its kernel; frames, innermost first, are "file:line function".
func (e *nsysExport) launch(thread, at, durNs int, frames ...string) {
	e.correlation++
	chain := 0
	if len(frames) > 0 {
		e.chains++
		chain = e.chains
		for depth, frame := range frames {
			module, function, _ := strings.Cut(frame, " ")
			e.statements = append(e.statements, fmt.Sprintf(`INSERT INTO CUDA_CALLCHAINS VALUES (%d, %d, %d, %d)`, chain, e.text(function), e.text(module), depth))
		}
	}
	e.statements = append(e.statements,
		fmt.Sprintf(`INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (%d, %d, %d, %d, %d, 0, %d)`, at, at+2, thread, e.correlation, e.text("cudaLaunchKernel_v7000"), chain),
		fmt.Sprintf(`INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (%d, %d, 0, 1, 7, %d, %d, %d, %d, 1, 1, 1, 32, 1, 1)`, 100_000+10_000*e.correlation, 100_000+10_000*e.correlation+durNs, e.correlation, nsysProcess, e.text("gemm"), e.text("gemm")))
}

func (e *nsysExport) annotate(thread, from, to int, text string) {
	e.statements = append(e.statements, fmt.Sprintf(`INSERT INTO NVTX_EVENTS VALUES (%d, %d, 59, 1, '%s', %d, NULL, NULL, 0)`, from, to, text, thread))
}

// costs attributes the export to a workspace of files.
func (e *nsysExport) costs(t *testing.T, files map[string]string) *traceindex.Costs {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.sqlite")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, statement := range e.statements {
		if _, err := db.Exec(statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	ranks, err := nsys.Read(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sources, err := attribute.Directory(root, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer sources.Close()
	costs, err := attribute.Run(context.Background(), &traceindex.Run{Ranks: ranks, Files: []string{path}}, sources)
	if err != nil {
		t.Fatal(err)
	}
	return costs
}

// gpuByLine is "file:line" → forward and backward nanoseconds; what fits no line is "reason name".
func gpuByLine(costs *traceindex.Costs) map[string]string {
	rows := map[string]string{}
	for _, l := range costs.Lines {
		if l.GPUNs() > 0 {
			rows[fmt.Sprintf("%s:%d %s", l.File, l.Line, l.Function)] = fmt.Sprintf("%d+%d %s", l.SelfNs, l.BackwardNs, l.Confidence)
		}
	}
	for _, u := range costs.Unattributed {
		rows[strings.TrimSpace(u.Reason+" "+u.Function)] = fmt.Sprint(u.Ns)
	}
	return rows
}

const nsysTrain = `import torch
from model import Net


def train(net, batches):
    for x in batches:
        y = net.forward(x)
        loss = (y
                .sum())
        loss.backward()


train(Net(), [1, 2])
`

const nsysModel = `class Net:
    def forward(self, x):
        h = x @ self.w
        h = h.relu(); h = h + 1
        return self.head(h)

    def head(self, h):
        return h @ self.v
`

// TestBacktracesGiveExactLines: with --python-backtrace=cuda every launch is on the statement that made it, whatever the trace
// does not show between them, and its backward on the line of its forward op.
func TestBacktracesGiveExactLines(t *testing.T) {
	e := newExport()
	outer := []string{"/srv/train.py:7 train", "/srv/train.py:13 <module>"}
	at := func(inner ...string) []string { return append(inner, outer...) }
	for step := range 2 {
		base := 1000 + 10_000*step
		e.annotate(nsysMain, base, base+9000, fmt.Sprintf("step %d", step))
		e.annotate(nsysMain, base+90, base+120, fmt.Sprintf("aten::mm, seq = %d, op_id = %d", step*10, step*100+1))
		e.launch(nsysMain, base+100, 500, at("/srv/model.py:3 forward")...)
		e.launch(nsysMain, base+200, 30, at("/srv/model.py:4 forward")...)
		e.launch(nsysMain, base+210, 20, at("/srv/model.py:4 forward")...)
		e.launch(nsysMain, base+300, 400, at("/srv/model.py:8 head", "/srv/model.py:5 forward")...)
		e.launch(nsysMain, base+400, 7, "/srv/train.py:9 train", "/srv/train.py:13 <module>")
		e.annotate(nsysEngine, base+500, base+560, fmt.Sprintf("autograd::engine::evaluate_function: MmBackward0, seq = %d, op_id = %d", step*10, step*100+2))
		e.launch(nsysEngine, base+520, 900)
	}
	costs := e.costs(t, map[string]string{"train.py": nsysTrain, "model.py": nsysModel})
	want := map[string]string{
		"model.py:3 Net.forward": "1000+1800 exact",
		"model.py:4 Net.forward": "100+0 exact",
		"model.py:8 Net.head":    "800+0 exact",
		"train.py:8 train":       "14+0 exact",
	}
	if diff := cmp.Diff(want, gpuByLine(costs)); diff != "" {
		t.Errorf("lines (-want +got)\n%s", diff)
	}
}

// TestRangesLabelTime: without backtraces, time is told by the innermost user range, else by the outermost op; backward work by the
// range of its forward op. Step markers say nothing.
func TestRangesLabelTime(t *testing.T) {
	e := newExport()
	for step := range 2 {
		base := 1000 + 10_000*step
		e.annotate(nsysMain, base, base+9000, fmt.Sprintf("step %d", step))
		e.annotate(nsysMain, base+100, base+400, "forward")
		e.annotate(nsysMain, base+150, base+300, "attention")
		e.annotate(nsysMain, base+200, base+220, fmt.Sprintf("aten::mm, seq = %d, op_id = %d", step*10, step*100+1))
		e.launch(nsysMain, base+110, 5)
		e.launch(nsysMain, base+205, 50)
		e.annotate(nsysMain, base+500, base+700, "aten::linear, op_id = 7")
		e.annotate(nsysMain, base+510, base+600, "aten::addmm, op_id = 8")
		e.launch(nsysMain, base+520, 30)
		e.annotate(nsysEngine, base+800, base+860, fmt.Sprintf("autograd::engine::evaluate_function: MmBackward0, seq = %d, op_id = %d", step*10, step*100+2))
		e.launch(nsysEngine, base+820, 200)
		e.launch(nsysMain, base+900, 3)
	}
	costs := e.costs(t, map[string]string{"train.py": nsysTrain})
	want := map[string]string{
		"range forward":             "10",
		"range attention":           "100",
		"range, backward attention": "400",
		"op aten::linear":           "60",
		"no Python frame":           "6",
	}
	if diff := cmp.Diff(want, gpuByLine(costs)); diff != "" {
		t.Errorf("rows (-want +got)\n%s", diff)
	}
	var sum int64
	for _, u := range costs.Unattributed {
		sum += u.Ns
		if u.File != "" || u.Line != 0 {
			t.Errorf("%+v names a place", u)
		}
	}
	if sum != costs.Summary.GPUTotalNs {
		t.Errorf("rows sum to %d of %d ns", sum, costs.Summary.GPUTotalNs)
	}
	if len(costs.Warnings) != 1 || !strings.Contains(costs.Warnings[0].Message, "--python-backtrace=cuda") {
		t.Errorf("warnings %v", costs.Warnings)
	}
}
