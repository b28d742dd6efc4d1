package monitoring

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// needTools skips unless `make test-monitoring` runs this, and returns the stepline to test.
func needTools(t *testing.T) string {
	t.Helper()
	program := os.Getenv("STEPLINE_MONITORING")
	if program == "" {
		t.Skip("`make test-monitoring` runs this")
	}
	program, err := filepath.Abs(filepath.Join("..", program))
	if err != nil {
		t.Fatal(err)
	}
	return program
}

func TestRules(t *testing.T) {
	needTools(t)
	for _, arguments := range [][]string{{"check", "rules", "alerts.yml"}, {"test", "rules", "alerts_test.yml"}} {
		if output, err := exec.Command("promtool", arguments...).CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", arguments, err, output)
		}
	}
}

// TestPrometheusScrapes has a real Prometheus scrape a training that runs, and reports of shipped traces with NCCL logs and a
// memory snapshot beside them. Every query of the dashboard must give data, and no alert's expression fail.
func TestPrometheusScrapes(t *testing.T) {
	stepline := needTools(t)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Second)
	defer cancel()
	folder := t.TempDir()
	writeReports(t, stepline, folder)
	startTraining(ctx, t, stepline, folder)

	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		if _, err := w.Write(collect(t, folder)); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	address := startPrometheus(ctx, t, server.Listener.Addr().String())

	waiting := map[string]string{} // query → panel
	for panel, queries := range readDashboard(t).queries() {
		for _, query := range queries {
			waiting[expand(query)] = panel
		}
	}
	if len(waiting) < 25 {
		t.Fatalf("only %d queries", len(waiting))
	}
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for len(waiting) > 0 {
		for query, panel := range waiting {
			samples, err := ask(ctx, address, query)
			if err != nil && ctx.Err() == nil && !errors.Is(err, errNotReady) {
				t.Fatalf("panel %q: %v\n%s", panel, err, query)
			}
			if samples > 0 {
				delete(waiting, query)
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			for query, panel := range waiting {
				t.Errorf("panel %q has no data: %s", panel, query)
			}
			return
		}
	}
	checkMetrics(t, filepath.Join(folder, "train.prom"))
	for _, name := range []string{"script:stepline_train_step_duration_seconds:p95_10m", `up{job="stepline"} == 1`, `ALERTS{alertname="SteplineLossNotFinite", alertstate="firing"}`} {
		for {
			if samples, err := ask(ctx, address, name); err == nil && samples > 0 {
				break
			}
			select {
			case <-tick.C:
				continue
			case <-ctx.Done():
				t.Errorf("no data: %s", name)
			}
			break
		}
	}
}

// writeReports writes what `stepline report` says of three runs into the collector's folder.
func writeReports(t *testing.T, stepline, folder string) {
	t.Helper()
	for run, inputs := range map[string][]string{
		"gpt":     {"../testdata/traces/gpt/trace.json.gz", "../testdata/traces/gpt/memory_snapshot.pickle.gz", "--root", "../testdata/traces/gpt"},
		"workers": {"../testdata/traces/vision_workers", "--root", "../testdata/traces/vision_workers"},
		"ddp":     {"../testdata/cases/62-collectives-across-ranks", "../testdata/cases/74-nccl-log/nccl.log", "--root", "../testdata/cases/62-collectives-across-ranks"},
	} {
		path := filepath.Join(folder, run+".prom")
		arguments := append([]string{"report", "--format", "prometheus", "--label", "run=" + run, "--output", path}, inputs...)
		if output, err := exec.Command(stepline, arguments...).CombinedOutput(); err != nil {
			t.Fatalf("stepline %v: %v\n%s", arguments, err, output)
		}
		checkMetrics(t, path)
	}
}

// checkMetrics holds a file against Prometheus' conventions for names, units and help.
func checkMetrics(t *testing.T, path string) {
	t.Helper()
	text, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	command := exec.Command("promtool", "check", "metrics")
	command.Stdin = text
	if output, err := command.CombinedOutput(); err != nil || len(output) > 0 {
		t.Errorf("promtool check metrics, %s: %v\n%s", filepath.Base(path), err, output)
	}
}

// startTraining runs testdata/training.py under `stepline record` until the test ends.
func startTraining(ctx context.Context, t *testing.T, stepline, folder string) {
	t.Helper()
	python := "python3"
	if _, err := os.Stat("/usr/bin/python3"); err == nil {
		python = "/usr/bin/python3"
	}
	if err := exec.Command(python, "-c", "import torch").Run(); err != nil {
		t.Fatalf("%s has no torch (Debian: apt-get install python3-torch)", python)
	}
	ctx, cancel := context.WithCancel(ctx)
	command := exec.CommandContext(ctx, stepline, "record", "--on-anomaly", "nan", "--steps", "1", "--output", filepath.Join(t.TempDir(), "captures"),
		"--textfile", filepath.Join(folder, "train.prom"), "--", python, "testdata/training.py")
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = 10 * time.Second
	output, err := os.Create(filepath.Join(t.TempDir(), "training.log"))
	if err != nil {
		t.Fatal(err)
	}
	command.Stdout, command.Stderr = output, output
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = command.Wait() // interrupted
		if t.Failed() {
			text, _ := os.ReadFile(output.Name())
			t.Logf("the training said:\n%s", text)
		}
		output.Close()
	})
}

// collect is the textfile collector: all .prom files, one # HELP and # TYPE a family.
func collect(t *testing.T, folder string) []byte {
	files, err := filepath.Glob(filepath.Join(folder, "*.prom"))
	if err != nil {
		t.Error(err)
	}
	samples, heads := map[string][]string{}, map[string][]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
			continue
		}
		family := ""
		own := map[string]bool{}
		for line := range strings.Lines(string(text)) {
			if fields := strings.Fields(line); fields[0] == "#" {
				if family = fields[2]; heads[family] == nil || own[family] {
					heads[family], own[family] = append(heads[family], line), true
				}
				continue
			}
			samples[family] = append(samples[family], line)
		}
	}
	var out strings.Builder
	for family, head := range heads {
		out.WriteString(strings.Join(head, "") + strings.Join(samples[family], ""))
	}
	return []byte(out.String())
}

// startPrometheus runs Prometheus on a free port of this machine and returns its address.
func startPrometheus(ctx context.Context, t *testing.T, target string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	rules, err := filepath.Abs("alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	config := filepath.Join(folder, "prometheus.yml")
	text := fmt.Sprintf("global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: [%q]\nscrape_configs:\n  - job_name: stepline\n    static_configs: [{targets: [%q]}]\n", rules, target)
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(ctx)
	command := exec.CommandContext(ctx, "prometheus", "--config.file="+config, "--storage.tsdb.path="+filepath.Join(folder, "data"), "--web.listen-address="+address)
	var log strings.Builder
	command.Stdout, command.Stderr = &log, &log
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = 10 * time.Second
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = command.Wait() // interrupted
		if t.Failed() {
			t.Logf("Prometheus said:\n%s", log.String())
		}
	})
	return address
}

// expand puts in what Grafana would for "All".
func expand(query string) string {
	return strings.NewReplacer("$instance", ".*", "$script", ".*", "$run", ".*", "$__rate_interval", "30s").Replace(query)
}

var errNotReady = errors.New("Prometheus is not there yet")

// ask is how many series an instant query answers with, those that are no number left out.
func ask(ctx context.Context, address, query string) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/api/v1/query?query="+url.QueryEscape(query), nil)
	if err != nil {
		return 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errNotReady, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err
	}
	if response.StatusCode == http.StatusServiceUnavailable {
		return 0, errNotReady
	}
	var answer struct {
		Status, Error string
		Data          struct {
			Result []struct{ Value [2]any }
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return 0, fmt.Errorf("%w: %s", err, body)
	}
	if answer.Status != "success" {
		return 0, errors.New(answer.Error)
	}
	numbers := slices.DeleteFunc(answer.Data.Result, func(r struct{ Value [2]any }) bool { return r.Value[1] == "NaN" && !strings.Contains(query, "loss") })
	return len(numbers), nil
}
