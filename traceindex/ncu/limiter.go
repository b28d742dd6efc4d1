package ncu

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// Limiter is what keeps a launch from being faster.
type Limiter string

// The limiters, after NVIDIA's SpeedOfLight rule.
const (
	LimiterUnknown  Limiter = "unknown"  // the report lacks a speed of light
	LimiterCompute  Limiter = "compute"  // a unit of the SMs is near its peak
	LimiterMemory   Limiter = "memory"   // a unit of the memory system is near its peak
	LimiterBalanced Limiter = "balanced" // both alike
	LimiterLatency  Limiter = "latency"  // neither: threads wait, or there are too few of them
	LimiterGrid     Limiter = "grid"     // neither, and the grid does not fill the GPU once
)

// Thresholds are the settings of the verdict, in percent of peak. They are settings, not facts.
type Thresholds struct {
	// LatencyBelow: with compute and memory both below it, the launch is limited by latency.
	LatencyBelow float64
	// BalancedWithin: compute and memory are alike when they differ by less.
	BalancedWithin float64
	// BusyUnit: a unit explains a throughput when it reaches this share (0–1) of it.
	BusyUnit float64
	// LowThreads: fewer active threads per warp than this (of 32) are named as divergence.
	LowThreads float64
	// ConflictShare and ExcessiveShare: bank conflicts, uncoalesced sectors from this percentage on are named.
	ConflictShare, ExcessiveShare float64
	// TensorFrom: tensor pipe use from this percentage on is named where it is not what limits.
	TensorFrom float64
}

// DefaultThresholds are those of the rules shipped with Nsight Compute, where it has them (60 % and 10 points in
// SpeedOfLight.py).
var DefaultThresholds = Thresholds{LatencyBelow: 60, BalancedWithin: 10, BusyUnit: 0.9, LowThreads: 24, ConflictShare: 10, ExcessiveShare: 10, TensorFrom: 5}

// Limiter says what limits the launch by its speeds of light.
func (l *Launch) Limiter(t Thresholds) Limiter {
	compute, memory := l.Measures.ComputePercent, l.Measures.MemoryPercent
	switch {
	case math.IsNaN(compute) || math.IsNaN(memory):
		return LimiterUnknown
	case compute < t.LatencyBelow && memory < t.LatencyBelow:
		if l.Measures.WavesPerSM < 1 {
			return LimiterGrid
		}
		return LimiterLatency
	case math.Abs(compute-memory) < t.BalancedWithin:
		return LimiterBalanced
	case compute > memory:
		return LimiterCompute
	}
	return LimiterMemory
}

// OccupancyLimiters are the resources that allow the fewest blocks per SM, in plain words; nil if the report does not tell.
func (l *Launch) OccupancyLimiters() []string {
	m := &l.Measures
	limits := []struct {
		name   string
		blocks float64
	}{
		{"registers", m.BlockLimitRegisters}, {"shared memory", m.BlockLimitShared}, {"warps per SM", m.BlockLimitWarps},
		{"blocks per SM", m.BlockLimitBlocks}, {"barriers", m.BlockLimitBarriers},
	}
	fewest := math.Inf(1)
	for _, limit := range limits {
		if limit.blocks < fewest {
			fewest = limit.blocks
		}
	}
	var names []string
	for _, limit := range limits {
		if limit.blocks == fewest {
			names = append(names, limit.name)
		}
	}
	return names
}

// Sentence says in one plain sentence what limits the launch, with the numbers the report holds.
func (l *Launch) Sentence(t Thresholds) string {
	parts := append([]string{l.headline(t)}, l.details(t)...)
	return strings.Join(parts, "; ") + "."
}

func (l *Launch) headline(t Thresholds) string {
	m := &l.Measures
	switch l.Limiter(t) {
	case LimiterCompute:
		return fmt.Sprintf("limited by compute: %s at %s of peak, memory at %s", l.computeUnit(t), percent(m.ComputePercent), percent(m.MemoryPercent))
	case LimiterMemory:
		return fmt.Sprintf("limited by memory: %s at %s of peak, compute at %s", l.memoryUnit(t), percent(m.MemoryPercent), percent(m.ComputePercent))
	case LimiterBalanced:
		return fmt.Sprintf("limited by compute and memory alike: %s at %s of peak, %s at %s", l.computeUnit(t), percent(m.ComputePercent), l.memoryUnit(t), percent(m.MemoryPercent))
	case LimiterLatency:
		return fmt.Sprintf("limited by latency: compute at %s of peak and memory at %s, so the threads wait", percent(m.ComputePercent), percent(m.MemoryPercent))
	case LimiterGrid:
		return fmt.Sprintf("limited by its grid: %s, compute at %s of peak, memory at %s", l.grid(), percent(m.ComputePercent), percent(m.MemoryPercent))
	}
	switch {
	case !math.IsNaN(m.ComputePercent):
		return fmt.Sprintf("limiter unknown: compute at %s of peak, the report has no memory throughput", percent(m.ComputePercent))
	case !math.IsNaN(m.MemoryPercent):
		return fmt.Sprintf("limiter unknown: memory at %s of peak, the report has no compute throughput", percent(m.MemoryPercent))
	case !math.IsNaN(m.DRAMPercent):
		return fmt.Sprintf("limiter unknown: DRAM at %s of peak, the report has no compute throughput", percent(m.DRAMPercent))
	}
	return "limiter unknown: the report has no speed-of-light metrics"
}

// grid says how little of the GPU the grid fills.
func (l *Launch) grid() string {
	m := &l.Measures
	waves := number(m.WavesPerSM) + " waves of blocks do not fill the GPU once"
	if m.WavesPerSM < 0.01 {
		waves = "less than 0.01 waves of blocks do not fill the GPU once"
	}
	if blocks := int64(l.Grid[0]) * int64(l.Grid[1]) * int64(l.Grid[2]); blocks > 0 && m.SMs > 0 {
		return fmt.Sprintf("%d blocks for %s SMs, %s", blocks, number(m.SMs), waves)
	}
	return waves
}

// computeUnit names the unit behind the compute throughput where the report tells it.
func (l *Launch) computeUnit(t Thresholds) string {
	m := &l.Measures
	if m.TensorPercent >= t.BusyUnit*m.ComputePercent {
		return "tensor cores"
	}
	if pipe, share, ok := l.topPipe(); ok && share >= t.BusyUnit*m.ComputePercent {
		return "the " + pipe + " pipe"
	}
	if m.IssueSlotsPercent >= t.BusyUnit*m.ComputePercent {
		return "instruction issue"
	}
	return "the SMs"
}

// memoryUnit names the unit behind the memory throughput where the report tells it.
func (l *Launch) memoryUnit(t Thresholds) string {
	m := &l.Measures
	for _, unit := range []struct {
		name  string
		share float64
	}{{"DRAM", m.DRAMPercent}, {"the L2 cache", m.L2Percent}, {"the L1 cache and shared memory", m.L1Percent}} {
		if unit.share >= t.BusyUnit*m.MemoryPercent {
			return unit.name
		}
	}
	return "the memory system"
}

func (l *Launch) details(t Thresholds) []string {
	m := &l.Measures
	var parts []string
	if !math.IsNaN(m.AchievedOccupancyPercent) {
		text := "occupancy " + percent(m.AchievedOccupancyPercent)
		if !math.IsNaN(m.TheoreticalOccupancyPercent) {
			text += " of " + percent(m.TheoreticalOccupancyPercent) + " possible"
			if limits := l.OccupancyLimiters(); len(limits) > 0 && m.TheoreticalOccupancyPercent < 100 {
				text += " (limited by " + strings.Join(limits, " and ") + ")"
			}
		}
		parts = append(parts, text)
	}
	if m.TensorPercent >= t.TensorFrom && l.computeUnit(t) != "tensor cores" {
		parts = append(parts, "tensor cores "+percent(m.TensorPercent)+" active")
	}
	if !math.IsNaN(m.L2HitPercent) {
		parts = append(parts, "L2 hit rate "+percent(m.L2HitPercent))
	}
	if share := 100 * m.SharedBankConflicts / m.SharedWavefronts; share >= t.ConflictShare {
		parts = append(parts, "shared-memory bank conflicts make "+percent(share)+" of its wavefronts")
	}
	if share := 100 * m.ExcessiveSectors / m.GlobalSectors; share >= t.ExcessiveShare {
		parts = append(parts, "uncoalesced access moves "+percent(share)+" of its global sectors for nothing")
	} else if m.LoadBytesPerSector > 0 && m.LoadBytesPerSector < 32*(1-t.ExcessiveShare/100) {
		parts = append(parts, fmt.Sprintf("uncoalesced loads use %s of each sector's 32 bytes", number(m.LoadBytesPerSector)))
	}
	if m.ActiveThreadsPerWarp > 0 && m.ActiveThreadsPerWarp < t.LowThreads {
		parts = append(parts, fmt.Sprintf("divergence leaves %s of 32 threads of a warp active", number(m.ActiveThreadsPerWarp)))
	}
	if m.LocalSpillRequests > 0 {
		parts = append(parts, "registers spill to local memory")
	}
	return parts
}

// Advice is the rule of Nsight Compute to show with the launch: of those that ask for a change, the one with the largest
// estimated speed-up of the whole kernel, else its verdict on the speed of light. nil if the report has no rules (the raw page
// has none).
func (l *Launch) Advice() *Rule {
	var best, light *Rule
	for i := range l.Rules {
		rule := &l.Rules[i]
		if rule.Name == "SOLBottleneck" {
			light = rule
		}
		if rule.Kind == "INF" || notForPyTorch[rule.Name] || !rule.Global || math.IsNaN(rule.SpeedupPercent) {
			continue
		}
		if best == nil || rule.SpeedupPercent > best.SpeedupPercent {
			best = rule
		}
	}
	if best == nil {
		return light
	}
	return best
}

// notForPyTorch are rules whose advice nobody can follow from training code: compressible L2 memory has to be asked for at
// cuMemCreate, which PyTorch's allocator does not do; sampling intervals concern the measurement.
var notForPyTorch = map[string]bool{"MemoryL2Compression": true, "PMSamplingData": true}

// Short is what the rule says of this launch, without its definitions and references, and its estimate: at most three sentences
// or about 300 bytes.
func (r *Rule) Short() string {
	var kept []string
	size := 0
	for _, sentence := range strings.SplitAfter(r.Text, ". ") {
		sentence = strings.TrimSpace(sentence)
		if sentence == "" || isBoilerplate(sentence) {
			continue
		}
		if len(kept) == 3 || len(kept) > 0 && size+len(sentence) > 300 {
			break
		}
		kept = append(kept, sentence)
		size += len(sentence)
	}
	text := strings.Join(kept, " ")
	if len(text) > 600 {
		text = strings.ToValidUTF8(text[:600], "") + "…"
	}
	if r.SpeedupPercent > 0 && r.Global {
		text += " (estimated speed-up " + percent(r.SpeedupPercent) + ")"
	}
	return text
}

// isBoilerplate reports whether a sentence of a rule defines terms or points to the manual.
func isBoilerplate(sentence string) bool {
	for _, start := range []string{
		"A wave of thread blocks is defined", "The number of blocks in a wave depends", "Every scheduler is capable",
		"Instructions are executed in warps", "Optimal instruction throughput is achieved", "Eligible warps are", "See the ",
		"Check the Warp Stall Sampling",
	} {
		if strings.HasPrefix(sentence, start) {
			return true
		}
	}
	return false
}

var (
	pipeText      = regexp.MustCompile(`^(.{1,60}?) is the highest-utilized pipeline \(([\d.,]+)%\)`)
	conflictText  = regexp.MustCompile(`results in ([\d.,]+) bank conflicts,\s+which represent ([\d.,]+)% of the overall ([\d.,]+) wavefronts`)
	excessiveText = regexp.MustCompile(`resulting in a total of ([\d.,]+) excessive sectors \(([\d.,]+)% of the total ([\d.,]+) sectors`)
	bytesText     = regexp.MustCompile(`only ([\d.,]+) of the 32 bytes transmitted per sector are utilized`)
	threadsText   = regexp.MustCompile(`achieves an average of ([\d.,]+) threads being active per cycle`)
)

// topPipe is the busiest pipe of the SM as the HighPipeUtilization rule names it.
func (l *Launch) topPipe() (name string, share float64, ok bool) {
	for _, rule := range l.Rules {
		if match := pipeText.FindStringSubmatch(rule.Text); match != nil {
			return match[1], ruleNumber(match[2]), true
		}
	}
	return "", 0, false
}

// readRules takes from the rules' texts the numbers the details page gives nowhere else. Rule texts are always in English and
// write decimals with a dot.
func (l *Launch) readRules() {
	m := &l.Measures
	var conflicts, wavefronts float64
	for _, rule := range l.Rules {
		if match := conflictText.FindStringSubmatch(rule.Text); match != nil {
			conflicts += ruleNumber(match[1])
			wavefronts += ruleNumber(match[3])
		}
		if match := excessiveText.FindStringSubmatch(rule.Text); match != nil && math.IsNaN(m.GlobalSectors) && strings.Contains(rule.Name, "Global") {
			m.ExcessiveSectors, m.GlobalSectors = ruleNumber(match[1]), ruleNumber(match[3])
		}
		if match := bytesText.FindStringSubmatch(rule.Text); match != nil && math.IsNaN(m.LoadBytesPerSector) && strings.Contains(rule.Text, "global loads") {
			m.LoadBytesPerSector = ruleNumber(match[1])
		}
		if match := threadsText.FindStringSubmatch(rule.Text); match != nil && math.IsNaN(m.ActiveThreadsPerWarp) {
			m.ActiveThreadsPerWarp = ruleNumber(match[1])
		}
	}
	if math.IsNaN(m.SharedWavefronts) && wavefronts > 0 {
		m.SharedBankConflicts, m.SharedWavefronts = conflicts, wavefronts
	}
	if pipe, share, ok := l.topPipe(); ok && math.IsNaN(m.TensorPercent) && strings.HasPrefix(pipe, "Tensor") {
		m.TensorPercent = share
	}
}

func ruleNumber(text string) float64 { return parseNumber(text, '.') }

func percent(value float64) string { return number(value) + " %" }

// number writes one decimal, two below 1, and none where it would be 0.
func number(value float64) string {
	decimals := 1
	if math.Abs(value) < 1 {
		decimals = 2
	}
	return strings.TrimSuffix(strconv.FormatFloat(value, 'f', decimals, 64), ".0")
}
