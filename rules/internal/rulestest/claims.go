package rulestest

import "regexp"

// FalseClaims are things often said about PyTorch's performance that are not so; no message and no page may repeat them.
var FalseClaims = compile(
	`autocast (takes|holds|acquires|needs) (a|the) lock`,
	`_set_default_dtype`,
	`autocast.{0,40}(lock contention|global lock)`,
	`(narrow|wrap)\w* autocast .{0,30}(single|individual|each) ops? .{0,30}(faster|speed)`,
	`1,?000 ?hz`,
	`profiler samples`,
	`num_alloc_retries.{0,60}pinned|pinned.{0,60}num_alloc_retries`,
	`set_per_process_memory_fraction.{0,80}(pins|pinned memory (size|pool|limit))`,
	`adamw?(\.step)? calls? (torch\.)?cuda\.synchronize`,
	`addcdiv`,
	`max_norm.{0,60}cache hit`,
	`distributedsampler.{0,40}barrier`,
	`net/socket.{0,40}(means|shows).{0,20}rdma`,
	`nccl_async_error_handling`,
	`(long|slow) nccl kernel.{0,40}(host queue|queueing)`,
	`blank (gpu )?timeline.{0,40}sm.{0,10}busy`,
	`all_reduce_perf -g 1`,
	`aten::copy_.{0,40}(slow|means).{0,20}data ?load`,
	`low worker cpu.{0,40}slow decode`,
	`cudastreamsynchronize.{0,60}kernel'?s fault`,
	`non_blocking.{0,40}(is useless|has no effect|does nothing)`,
	`foreach.{0,30}(default).{0,30}\bslow\b`,
)

func compile(patterns ...string) []*regexp.Regexp {
	out := make([]*regexp.Regexp, len(patterns))
	for i, p := range patterns {
		out[i] = regexp.MustCompile(`(?is)` + p)
	}
	return out
}
