package report

import (
	"io"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"

	"stepline/rules"
)

// prometheusLines bounds the series by line: the most expensive ones.
const prometheusLines = 20

// WriteRunPrometheus prints the report's figures in Prometheus' text format, for the textfile collector. Times are seconds a
// step, shares are ratios of the step.
func WriteRunPrometheus(w io.Writer, r *Run) error {
	registry := prometheus.NewRegistry()
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		vector := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "stepline", Name: name, Help: help}, labels)
		registry.MustRegister(vector) // names and labels are constants below
		return vector
	}
	seconds := func(ns int64) float64 { return float64(ns) / 1e9 }
	rank := func(number int) string { return strconv.Itoa(number) }

	steps := gauge("steps", "Steps in the trace, by rank.", "rank")
	step := gauge("step_duration_seconds", "Mean duration of a step, by rank.", "rank")
	busy := gauge("gpu_busy_ratio", "Share of the step with work on the GPU, by rank.", "rank")
	exposed := gauge("exposed_communication_seconds", "Communication a step that no compute hides, by rank.", "rank")
	for _, row := range r.rankRows() {
		steps.WithLabelValues(rank(row.Rank)).Set(float64(row.Steps))
		step.WithLabelValues(rank(row.Rank)).Set(seconds(row.MeanNs))
		busy.WithLabelValues(rank(row.Rank)).Set(share(row.BusyNs, row.MeanNs))
		exposed.WithLabelValues(rank(row.Rank)).Set(seconds(row.ExposedNs))
	}
	class := gauge("bottleneck_info", "What bounds the step: the class is the label, the value is 1.", "class")
	class.WithLabelValues(string(r.Diagnosis.Class)).Set(1)
	shares := gauge("step_share_ratio", "Parts of the step; they sum to 1.", "part")
	for _, row := range shareRows(r.Diagnosis.Shares) {
		shares.WithLabelValues(row.Key).Set(row.Share)
	}
	idle := gauge("gpu_idle_seconds", "Idle time of the GPU a step, by cause.", "cause")
	for _, total := range r.causeTotals() {
		idle.WithLabelValues(total.Cause.String()).Set(seconds(total.NsPerStep))
	}
	wait := gauge("straggler_wait_seconds", "How long others wait for a rank in collectives, a step.", "rank")
	for _, s := range r.Diagnosis.Stragglers {
		wait.WithLabelValues(rank(r.rank(s.Rank))).Set(seconds(s.WaitNs) / float64(max(1, s.Steps)))
	}
	count, _ := StepCount(r.Costs.Summary)
	line := gauge("line_gpu_seconds", "GPU time a step of the most expensive lines, by direction.", "file", "line", "function", "direction")
	for _, l := range RankLines(r.Costs.Lines, OrderGPU, prometheusLines) {
		line.WithLabelValues(Printable(l.File), strconv.Itoa(l.Line), Printable(l.Function), "forward").Set(seconds(l.SelfNs) / float64(count))
		line.WithLabelValues(Printable(l.File), strconv.Itoa(l.Line), Printable(l.Function), "backward").Set(seconds(l.BackwardNs) / float64(count))
	}
	cost := gauge("finding_cost_seconds", "What mending a confirmed finding is expected to save a step, at least.", "rule", "file", "line")
	for _, f := range r.pricedFindings() {
		if f.Verdict == rules.Confirmed && f.LowNs > 0 {
			cost.WithLabelValues(f.Rule, Printable(f.File), strconv.Itoa(f.Line)).Add(seconds(f.LowNs)) // several on one line add up
		}
	}
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
