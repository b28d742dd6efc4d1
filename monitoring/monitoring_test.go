package monitoring

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// dashboard is what the tests read of grafana/stepline.json.
type dashboard struct {
	UID    string
	Panels []struct {
		ID      int
		Type    string
		Title   string
		GridPos struct{ X, Y, W, H int }
		Targets []struct{ RefID, Expr string }
	}
	Templating struct {
		List []struct{ Name, Definition, Type string }
	}
	Annotations struct{ List []struct{ Expr string } }
}

func readDashboard(t *testing.T) *dashboard {
	t.Helper()
	text, err := os.ReadFile("grafana/stepline.json")
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	return &d
}

// queries are the dashboard's queries by the panel they are in.
func (d *dashboard) queries() map[string][]string {
	all := map[string][]string{}
	for _, panel := range d.Panels {
		for _, target := range panel.Targets {
			all[panel.Title] = append(all[panel.Title], target.Expr)
		}
	}
	return all
}

var (
	gaugeName   = regexp.MustCompile(`gauge\("([a-z0-9_]+)"`)
	familyName  = regexp.MustCompile(`family\(\s*"([a-z0-9_]+)"`)
	metricName  = regexp.MustCompile(`\bstepline_[a-z_0-9]+`)
	sampleAfter = regexp.MustCompile(`_(bucket|sum|count)$`)
)

// TestNamesAreWritten: each metric that the rules, the dashboard and the guide name is one that stepline writes, and the guide
// names each of them.
func TestNamesAreWritten(t *testing.T) {
	written := map[string]bool{}
	for _, source := range []struct {
		file, prefix string
		pattern      *regexp.Regexp
	}{
		{"../report/run_prometheus.go", "stepline_", gaugeName},
		{"../report/prometheus_beside.go", "stepline_", gaugeName},
		{"../traceindex/recorder/python/stepline_textfile.py", "stepline_train_", familyName},
	} {
		text, err := os.ReadFile(source.file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range source.pattern.FindAllStringSubmatch(string(text), -1) {
			written[source.prefix+match[1]] = true
		}
	}
	if len(written) < 30 {
		t.Fatalf("only %d metrics found", len(written))
	}
	guide := map[string]bool{}
	for _, file := range []string{"alerts.yml", "alerts_test.yml", "grafana/stepline.json", "../docs/guides/monitoring.md"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range metricName.FindAllString(string(text), -1) {
			if strings.HasSuffix(name, "_") { // a prefix in the guide's text
				continue
			}
			if name = sampleAfter.ReplaceAllString(name, ""); !written[name] {
				t.Errorf("%s names %s, which nothing writes", file, name)
			}
			guide[name] = guide[name] || strings.HasSuffix(file, ".md")
		}
	}
	for name := range written {
		if !guide[name] {
			t.Errorf("docs/guides/monitoring.md does not name %s", name)
		}
	}
}

func TestDashboardLayout(t *testing.T) {
	d := readDashboard(t)
	ids, taken := map[int]bool{}, map[[2]int]string{}
	for _, panel := range d.Panels {
		if ids[panel.ID] || panel.Title == "" || panel.Type != "row" && len(panel.Targets) == 0 {
			t.Errorf("panel %d %q: id twice, no title or no query", panel.ID, panel.Title)
		}
		ids[panel.ID] = true
		place := panel.GridPos
		for x := place.X; x < place.X+place.W; x++ {
			for y := place.Y; y < place.Y+place.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("panel %q lies over %q, or beyond the right edge", panel.Title, other)
				}
				taken[[2]int{x, y}] = panel.Title
			}
		}
	}
	if d.UID != "stepline" || len(ids) < 20 {
		t.Errorf("%d panels", len(ids))
	}
}

// TestAlertsSayWhatToDo: each alert has a summary, a description and a command.
func TestAlertsSayWhatToDo(t *testing.T) {
	text, err := os.ReadFile("alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	var rules struct {
		Groups []struct {
			Rules []struct {
				Alert       string
				Labels      map[string]string
				Annotations map[string]string
			}
		}
	}
	if err := yaml.Unmarshal(text, &rules); err != nil {
		t.Fatal(err)
	}
	alerts := 0
	for _, group := range rules.Groups {
		for _, rule := range group.Rules {
			if rule.Alert == "" {
				continue
			}
			alerts++
			for _, name := range []string{"summary", "description", "command"} {
				if rule.Annotations[name] == "" {
					t.Errorf("%s has no %s", rule.Alert, name)
				}
			}
			if rule.Labels["severity"] == "" {
				t.Errorf("%s has no severity", rule.Alert)
			}
		}
	}
	if alerts < 5 {
		t.Errorf("%d alerts", alerts)
	}
}
