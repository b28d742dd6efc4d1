package ncu

import "math"

// Measures are the metrics stepline reads of one launch, whatever page and version of ncu they came from. NaN means the
// report does not hold it. Percentages are 0–100 of the unit's sustained peak.
type Measures struct {
	DurationNs float64 // under ncu's locked clocks: not the run's duration

	ComputePercent, MemoryPercent           float64 // the speed of light of the SMs and of the busiest memory unit
	DRAMPercent, L1Percent, L2Percent       float64
	DRAMBytesPerSecond                      float64
	TensorPercent                           float64 // tensor pipe's active cycles
	IssueSlotsPercent                       float64 // scheduler slots in which an instruction was issued
	AchievedOccupancyPercent                float64
	TheoreticalOccupancyPercent             float64
	BlockLimitRegisters, BlockLimitShared   float64 // blocks per SM each resource allows
	BlockLimitWarps, BlockLimitBlocks       float64
	BlockLimitBarriers                      float64
	WavesPerSM, SMs, RegistersPerThread     float64
	L1HitPercent, L2HitPercent              float64
	SharedBankConflicts, SharedWavefronts   float64 // conflicts of shared loads and stores; all wavefronts of both
	LoadBytesPerSector, StoreBytesPerSector float64 // of the 32 bytes of a sector, how many threads asked for
	ExcessiveSectors, GlobalSectors         float64 // L2 sectors of global accesses beyond the ideal; all of them
	ActiveThreadsPerWarp                    float64 // of 32
	BranchEfficiencyPercent                 float64
	LocalSpillRequests                      float64
}

// measure is one field of Measures with where ncu writes it.
type measure struct {
	field func(*Measures) *float64
	// raw are the metric names of the raw page, best first: an earlier name is not overwritten by a later one.
	raw []string
	// details are {section, label} of the details page; an empty section fits any. Labels changed over the years.
	details [][2]string
	unit    unitKind
}

type unitKind uint8

const (
	unitPlain unitKind = iota
	unitTime
	unitBytesPerSecond
)

const (
	sectionLight     = "GPU Speed Of Light Throughput"
	sectionOldLight  = "GPU Speed Of Light"
	sectionMemory    = "Memory Workload Analysis"
	peakElapsed      = ".avg.pct_of_peak_sustained_elapsed"
	peakActive       = ".avg.pct_of_peak_sustained_active"
	tensorTypes      = "sm__pipe_tensor_type_hmma_hgmma_qgmma_imma_igmma_bmma_bgmma_cycles_active"
	excessiveSectors = "memory_l2_theoretical_sectors_global"
)

// measures is the table of everything read. Names are from the section files shipped with ncu 2019.4–2026.1 and the exports in
// testdata.
var measures = []measure{
	{func(m *Measures) *float64 { return &m.DurationNs }, []string{"gpu__time_duration.sum", "gpu__time_duration.avg", "gpu__time_duration.max"}, [][2]string{{sectionLight, "Duration"}, {sectionOldLight, "Duration"}}, unitTime},
	{func(m *Measures) *float64 { return &m.ComputePercent }, []string{"sm__throughput" + peakElapsed}, [][2]string{{sectionLight, "Compute (SM) Throughput"}, {"", "SOL SM"}, {"", "Compute (SM) [%]"}, {"", "SM [%]"}}, unitPlain},
	{func(m *Measures) *float64 { return &m.MemoryPercent }, []string{"gpu__compute_memory_throughput" + peakElapsed}, [][2]string{{sectionLight, "Memory Throughput"}, {"", "SOL Memory"}, {"", "Memory [%]"}}, unitPlain},
	{func(m *Measures) *float64 { return &m.DRAMPercent }, []string{"gpu__dram_throughput" + peakElapsed, "dram__throughput" + peakElapsed}, [][2]string{{sectionLight, "DRAM Throughput"}, {"", "SOL DRAM"}, {"", "SOL FB"}}, unitPlain},
	{func(m *Measures) *float64 { return &m.L1Percent }, []string{"l1tex__throughput" + peakActive, "l1tex__throughput" + peakElapsed}, [][2]string{{sectionLight, "L1/TEX Cache Throughput"}, {"", "SOL L1/TEX Cache"}}, unitPlain},
	{func(m *Measures) *float64 { return &m.L2Percent }, []string{"lts__throughput" + peakElapsed}, [][2]string{{sectionLight, "L2 Cache Throughput"}, {"", "SOL L2 Cache"}}, unitPlain},
	{func(m *Measures) *float64 { return &m.DRAMBytesPerSecond }, []string{"dram__bytes.sum.per_second"}, [][2]string{{sectionMemory, "Memory Throughput"}}, unitBytesPerSecond},
	{func(m *Measures) *float64 { return &m.TensorPercent }, []string{
		"sm__pipe_tensor_cycles_active" + peakElapsed, "sm__pipe_tensor_cycles_active" + peakActive,
		tensorTypes + peakElapsed, tensorTypes + peakActive,
		"sm__pipe_tensor_op_hmma_cycles_active" + peakElapsed, "sm__pipe_tensor_op_hmma_cycles_active" + peakActive,
		"sm__inst_executed_pipe_tensor" + peakElapsed, "sm__inst_executed_pipe_tensor" + peakActive}, nil, unitPlain},
	{func(m *Measures) *float64 { return &m.IssueSlotsPercent }, []string{"sm__inst_issued" + peakActive, "sm__issue_active" + peakElapsed}, [][2]string{{"", "Issue Slots Busy"}}, unitPlain},
	{func(m *Measures) *float64 { return &m.AchievedOccupancyPercent }, []string{"sm__warps_active" + peakActive}, [][2]string{{"Occupancy", "Achieved Occupancy"}}, unitPlain},
	{func(m *Measures) *float64 { return &m.TheoreticalOccupancyPercent }, []string{"sm__maximum_warps_per_active_cycle_pct", "sm__maximum_warps_avg_per_active_cycle_pct"}, [][2]string{{"Occupancy", "Theoretical Occupancy"}}, unitPlain},
	{func(m *Measures) *float64 { return &m.BlockLimitRegisters }, []string{"launch__occupancy_limit_registers"}, [][2]string{{"Occupancy", "Block Limit Registers"}}, unitPlain},
	{func(m *Measures) *float64 { return &m.BlockLimitShared }, []string{"launch__occupancy_limit_shared_mem"}, [][2]string{{"Occupancy", "Block Limit Shared Mem"}}, unitPlain},
	{func(m *Measures) *float64 { return &m.BlockLimitWarps }, []string{"launch__occupancy_limit_warps"}, [][2]string{{"Occupancy", "Block Limit Warps"}}, unitPlain},
	{func(m *Measures) *float64 { return &m.BlockLimitBlocks }, []string{"launch__occupancy_limit_blocks"}, [][2]string{{"Occupancy", "Block Limit SM"}}, unitPlain},
	{func(m *Measures) *float64 { return &m.BlockLimitBarriers }, []string{"launch__occupancy_limit_barriers"}, [][2]string{{"Occupancy", "Block Limit Barriers"}}, unitPlain},
	{func(m *Measures) *float64 { return &m.WavesPerSM }, []string{"launch__waves_per_multiprocessor"}, [][2]string{{"Launch Statistics", "Waves Per SM"}}, unitPlain},
	{func(m *Measures) *float64 { return &m.SMs }, []string{"launch__sm_count", "device__attribute_multiprocessor_count"}, [][2]string{{"Launch Statistics", "# SMs"}}, unitPlain},
	{func(m *Measures) *float64 { return &m.RegistersPerThread }, []string{"launch__registers_per_thread"}, [][2]string{{"Launch Statistics", "Registers Per Thread"}}, unitPlain},
	{func(m *Measures) *float64 { return &m.L1HitPercent }, []string{"l1tex__t_sector_hit_rate.pct"}, [][2]string{{sectionMemory, "L1/TEX Hit Rate"}, {sectionMemory, "L1 Hit Rate"}}, unitPlain},
	{func(m *Measures) *float64 { return &m.L2HitPercent }, []string{"lts__t_sector_hit_rate.pct", "lts__t_sector_hit_rate.pct_of_peak"}, [][2]string{{sectionMemory, "L2 Hit Rate"}}, unitPlain},
	{func(m *Measures) *float64 { return &m.SharedBankConflicts }, []string{"l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"}, nil, unitPlain},
	{func(m *Measures) *float64 { return &m.SharedWavefronts }, []string{"l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"}, nil, unitPlain},
	{func(m *Measures) *float64 { return &m.LoadBytesPerSector }, []string{"smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio"}, nil, unitPlain},
	{func(m *Measures) *float64 { return &m.StoreBytesPerSector }, []string{"smsp__sass_average_data_bytes_per_sector_mem_global_op_st.ratio"}, nil, unitPlain},
	{func(m *Measures) *float64 { return &m.ExcessiveSectors }, []string{"derived__" + excessiveSectors + "_excessive"}, nil, unitPlain},
	{func(m *Measures) *float64 { return &m.GlobalSectors }, []string{excessiveSectors}, nil, unitPlain},
	{func(m *Measures) *float64 { return &m.ActiveThreadsPerWarp }, []string{"smsp__thread_inst_executed_per_inst_executed.ratio", "smsp__thread_inst_executed_per_inst_executed"}, [][2]string{{"", "Avg. Active Threads Per Warp"}}, unitPlain},
	{func(m *Measures) *float64 { return &m.BranchEfficiencyPercent }, []string{"smsp__sass_average_branch_targets_threads_uniform.pct"}, [][2]string{{"", "Branch Efficiency"}}, unitPlain},
	{func(m *Measures) *float64 { return &m.LocalSpillRequests }, []string{"derived__local_spilling_requests", "smsp__inst_executed_op_local_spilling.sum"}, [][2]string{{"", "Local Memory Spilling Requests"}}, unitPlain},
}

// place is where in Measures a column's or row's value goes: the row of measures and the rank of its name (0 is best).
type place struct {
	measure uint8
	rank    uint8
}

var (
	rawPlaces     = map[string]place{}
	detailsPlaces = map[[2]string]place{}
)

func init() {
	for i, m := range measures {
		for rank, name := range m.raw {
			rawPlaces[name] = place{uint8(i), uint8(rank)}
		}
		for rank, label := range m.details {
			detailsPlaces[label] = place{uint8(i), uint8(rank)}
		}
	}
}

// placeOf finds the measure of a metric. Raw names also occur as rows ("Metric Name" with --metrics).
func placeOf(section, name string) (place, bool) {
	if p, ok := rawPlaces[name]; ok {
		return p, true
	}
	if p, ok := detailsPlaces[[2]string{section, name}]; ok {
		return p, true
	}
	p, ok := detailsPlaces[[2]string{"", name}]
	return p, ok
}

func (m measure) inBaseUnit(value float64, unit string) float64 {
	switch m.unit {
	case unitTime:
		factor, ok := nanosecondsPer[unit]
		if !ok {
			return math.NaN()
		}
		return value * factor
	case unitBytesPerSecond:
		factor := bytesPer(unit)
		if factor == 0 {
			return math.NaN()
		}
		return value * factor
	}
	return value
}

func unknownMeasures() Measures {
	var m Measures
	for _, row := range measures {
		*row.field(&m) = math.NaN()
	}
	return m
}

// fill takes over what m does not know from another report of the same launch.
func (m *Measures) fill(other *Measures) {
	for _, row := range measures {
		if mine := row.field(m); math.IsNaN(*mine) {
			*mine = *row.field(other)
		}
	}
}
