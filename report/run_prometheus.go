package report

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"

	"stepline/rules"
	"stepline/traceindex"
)

// prometheusLines bounds the series by line: the most expensive ones.
const prometheusLines = 20

// metrics collects a report's gauges.
type metrics struct{ registry prometheus.Registerer }

func (m metrics) gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	vector := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "stepline", Name: name, Help: help}, labels)
	m.registry.MustRegister(vector) // names and labels are constants, the labels given were checked
	return vector
}

// ownLabels are the labels that series have by themselves.
var ownLabels = []string{"bytes", "cause", "class", "code", "collective", "device", "direction", "file", "function", "limiter", "line", "part", "rank",
	"rule", "severe", "snapshot", "version"}

var labelName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

func checkLabels(labels map[string]string) error {
	for name := range labels {
		if !labelName.MatchString(name) || strings.HasPrefix(name, "__") {
			return fmt.Errorf("%q is no name of a label: letters, digits and _, as in run=today", name)
		}
		if slices.Contains(ownLabels, name) {
			return fmt.Errorf("the series have a label %s of their own; choose another name, as in run=today", name)
		}
	}
	return nil
}

func asSeconds(ns int64) float64 { return float64(ns) / 1e9 }

// WriteRunPrometheus prints the report's figures in Prometheus' text format, for the textfile collector. Times are seconds a
// step, shares are ratios of the step. Names and labels are listed in docs/guides/monitoring.md. Every series gets the labels
// given, so that the files of several runs can lie in one folder; the error says which label cannot be one.
func WriteRunPrometheus(w io.Writer, r *Run, labels map[string]string) error {
	if err := checkLabels(labels); err != nil {
		return err
	}
	registry := prometheus.NewRegistry()
	m := metrics{prometheus.WrapRegistererWith(labels, registry)}
	m.gauge("build_info", "The stepline that wrote this; the value is 1.", "version").WithLabelValues(r.Version).Set(1)
	m.steps(r)
	class := m.gauge("bottleneck_info", "What bounds the step: the class is the label, the value is 1.", "class")
	class.WithLabelValues(string(r.Diagnosis.Class)).Set(1)
	if r.gpuKnown() { // a 0 would be taken for a measured one
		m.gpu(r)
		m.bottleneck(r)
	}
	m.lines(r)
	m.quality(r)
	m.beside(r.Beside)
	families, err := registry.Gather()
	if err != nil {
		return err
	}
	for _, family := range families {
		if _, err := expfmt.MetricFamilyToText(w, family); err != nil {
			return err
		}
	}
	return nil
}

// steps are the steps by rank.
func (m metrics) steps(r *Run) {
	steps := m.gauge("steps", "Steps in the trace, by rank.", "rank")
	step := m.gauge("step_duration_seconds", "Mean duration of a step, by rank.", "rank")
	for _, row := range r.rankRows() {
		rank := strconv.Itoa(row.Rank)
		steps.WithLabelValues(rank).Set(float64(row.Steps))
		step.WithLabelValues(rank).Set(asSeconds(row.MeanNs))
	}
}

// gpu is what the steps say of the GPU by rank, and how much of its time is explained.
func (m metrics) gpu(r *Run) {
	busy := m.gauge("gpu_busy_ratio", "Share of the step with work on the GPU, by rank.", "rank")
	exposed := m.gauge("exposed_communication_seconds", "Communication a step that no compute hides, by rank.", "rank")
	for _, row := range r.rankRows() {
		rank := strconv.Itoa(row.Rank)
		busy.WithLabelValues(rank).Set(share(row.BusyNs, row.MeanNs))
		exposed.WithLabelValues(rank).Set(asSeconds(row.ExposedNs))
	}
	wait := m.gauge("straggler_wait_seconds", "How long others wait for a rank in collectives, a step.", "rank")
	for _, s := range r.Diagnosis.Stragglers {
		wait.WithLabelValues(strconv.Itoa(r.rank(s.Rank))).Set(asSeconds(s.WaitNs) / float64(max(1, s.Steps)))
	}
	m.gauge("gpu_idle_unexplained_ratio", "Idle time without a cause over all idle time.").WithLabelValues().Set(r.Diagnosis.UnknownShare)
	m.gauge("gpu_unattributed_ratio", "GPU time that is on no line over all GPU time.").WithLabelValues().Set(share(unattributedNs(r.Costs), r.Costs.Summary.GPUTotalNs))
}

// bottleneck is the step's parts, and the idle time by cause. Every cause is there, so that a series does not end where a
// cause is mended.
func (m metrics) bottleneck(r *Run) {
	shares := m.gauge("step_share_ratio", "Parts of the step; they sum to 1.", "part")
	for _, row := range shareRows(r.Diagnosis.Shares) {
		shares.WithLabelValues(row.Key).Set(row.Share)
	}
	idle := m.gauge("gpu_idle_seconds", "Idle time of the GPU a step, by cause; loader is the wait for the next batch.", "cause")
	gaps := m.gauge("gpu_idle_gaps", "Idle gaps of the GPU in the trace, by cause.", "cause")
	for cause := range causeWords {
		idle.WithLabelValues(cause.String()).Set(0)
		gaps.WithLabelValues(cause.String()).Set(0)
	}
	for _, total := range r.causeTotals() {
		idle.WithLabelValues(total.Cause.String()).Set(asSeconds(total.NsPerStep))
		gaps.WithLabelValues(total.Cause.String()).Set(float64(total.Gaps))
	}
}

// lines are the most expensive lines, and the findings that cost something.
func (m metrics) lines(r *Run) {
	count, _ := StepCount(r.Costs.Summary)
	line := m.gauge("line_gpu_seconds", "GPU time a step of the most expensive lines, by direction.", "file", "line", "function", "direction")
	for _, l := range RankLines(r.Costs.Lines, OrderGPU, prometheusLines) {
		line.WithLabelValues(Printable(l.File), strconv.Itoa(l.Line), Printable(l.Function), "forward").Set(asSeconds(l.SelfNs) / float64(count))
		line.WithLabelValues(Printable(l.File), strconv.Itoa(l.Line), Printable(l.Function), "backward").Set(asSeconds(l.BackwardNs) / float64(count))
	}
	cost := m.gauge("finding_cost_seconds", "What mending a confirmed finding is expected to save a step, at least.", "rule", "file", "line")
	for _, f := range r.pricedFindings() {
		if f.Verdict == rules.Confirmed && f.LowNs > 0 {
			cost.WithLabelValues(f.Rule, Printable(f.File), strconv.Itoa(f.Line)).Add(asSeconds(f.LowNs)) // several on one line add up
		}
	}
}

// quality says how far the trace can be trusted.
func (m metrics) quality(r *Run) {
	limits := m.gauge("trace_quality_info", "What the trace lacks or distorts: the code is the label, the value is 1.", "code")
	for _, q := range r.Diagnosis.Quality {
		limits.WithLabelValues(q.Code).Set(1)
	}
	warnings := m.gauge("trace_warnings", "Warnings about damaged or strange input, by code.", "code")
	for _, warning := range r.Warnings {
		warnings.WithLabelValues(warning.Code).Inc()
	}
}

func unattributedNs(costs *traceindex.Costs) int64 {
	var sum int64
	for _, row := range costs.Unattributed {
		sum += row.Ns
	}
	return sum
}
