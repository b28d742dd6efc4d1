package recorder

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// TestTextfile reads the figures of a training that went wrong, as the textfile collector does.
func TestTextfile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "train.prom")
	r := watch(t, Watch{When: []string{"step>350ms", "nan"}, Textfile: path}, "130", "nan,slow")
	if r.failure != nil {
		t.Fatal(r.failure)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(string(text)))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	one := func(name string) *dto.Metric {
		t.Helper()
		family := families["stepline_train_"+name]
		if len(family.GetMetric()) != 1 {
			t.Fatalf("%s: %v\n%s", name, family, text)
		}
		return family.GetMetric()[0]
	}
	if steps := one("steps_total").GetCounter().GetValue(); steps != 130 {
		t.Errorf("%v steps", steps)
	}
	if running := one("running").GetGauge().GetValue(); running != 0 {
		t.Errorf("running is %v after the end", running)
	}
	if bad := one("bad_losses_total").GetCounter().GetValue(); bad < 1 || bad > 90 {
		t.Errorf("%v bad losses", bad) // from step 40 on the weights are NaN; losses beside captures are not looked at
	}
	times := one("step_duration_seconds").GetHistogram()
	if n := times.GetSampleCount(); n < 80 || n > 120 {
		t.Errorf("%d steps were timed", n) // not the first ten, and none beside a capture
	}
	captures := 0.0
	for _, metric := range families["stepline_train_captures_total"].GetMetric() {
		captures += metric.GetCounter().GetValue()
	}
	if kept := len(r.captures(t)); captures == 0 || int(captures) < kept {
		t.Errorf("%v captures counted, %d kept", captures, kept)
	}
	labels := map[string]string{}
	for _, pair := range one("info").GetLabel() {
		labels[pair.GetName()] = pair.GetValue()
	}
	if labels["script"] != "watched" || labels["rank"] != "0" || labels["captures"] != r.folder {
		t.Errorf("labels %v", labels)
	}
	rest, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(rest) != 1 {
		t.Errorf("%v, %v: something half-written was left", rest, err)
	}
}

func TestTextfileErrors(t *testing.T) {
	folder := t.TempDir()
	for name, want := range map[string]string{"train.txt": "must end in .prom", filepath.Join("absent", "train.prom"): "there is no folder"} {
		_, err := (&Watch{Textfile: filepath.Join(folder, name)}).withTextfile()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
