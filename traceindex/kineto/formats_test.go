package kineto

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stepline/traceindex"
)

// summary is what an index holds, one line an event: category, name, thread, and for GPU events what launched them.
func summary(ix *traceindex.Index) []string {
	words := map[traceindex.Category]string{traceindex.CategoryOp: "op", traceindex.CategoryPython: "python", traceindex.CategoryRuntime: "call",
		traceindex.CategoryAnnotation: "range", traceindex.CategoryKernel: "kernel", traceindex.CategoryMemcpy: "copy", traceindex.CategoryMemset: "memset",
		traceindex.CategoryGPUAnnotation: "gpu range", traceindex.CategorySync: "sync", traceindex.CategoryOther: "other", traceindex.CategoryOverhead: "overhead", traceindex.CategoryMemory: "memory"}
	var out []string
	for row := range traceindex.EventID(ix.Events.Len()) {
		t := ix.Threads[ix.Events.Thread[row]]
		line := fmt.Sprintf("%s %s on %s/%s", words[ix.Events.Category[row]], strings.TrimSpace(ix.Name(row)), t.PID, t.TID)
		if d, ok := ix.GPUDetailOf(row); ok && ix.Events.Category[row] == traceindex.CategoryMemcpy && d.Bytes >= 0 {
			line += fmt.Sprintf(" of %d bytes", d.Bytes)
		}
		if ix.Events.Category[row].IsGPUWork() && ix.Launch[row] != traceindex.NoEvent {
			line += " from " + ix.Name(ix.Launch[row])
		}
		if p := ix.Parent[row]; p != traceindex.NoEvent {
			line += " in " + ix.Name(p)
		}
		out = append(out, line)
	}
	return out
}

// The forms that versions and backends write, one event of each sort.
func TestFormats(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string
	}{
		{"torch 1.8, its own exporter", `[
{"name":"aten::add","ph":"X","ts":10.5,"dur":3.25,"tid":1,"pid":"CPU functions","args":{}},
{"name":"gemm","ph":"X","ts":12,"dur":3,"tid":7,"pid":"CUDA functions","args":{}},
{"name":"aten::add","ph":"s","ts":10.5,"tid":1,"pid":"CPU functions","id":1,"cat":"cpu_to_cuda","args":{}}
]`, []string{"op aten::add on CPU functions/1", "kernel gemm on CUDA functions/7"}},
		{"torch 1.8 with kineto", `{"schemaVersion":1,"traceEvents":[
{"ph":"X","cat":"Operator","name":"aten::mm","pid":9,"tid":"9","ts":1,"dur":9,"args":{"Device":9,"External id":"3","Trace name":"","Trace iteration":0,"Fwd thread id":0,"Sequence number":5}},
{"ph":"X","cat":"Runtime","name":"cudaLaunchKernel","pid":9,"tid":"9","ts":2,"dur":3,"args":{"cbid":211,"correlation":77,"external id":3,"external ts":1}},
{"ph":"X","cat":"Kernel","name":"gemm","pid":0,"tid":"stream 7","ts":20,"dur":30,"args":{"queued":0,"device":0,"context":1,"stream":7,"correlation":77,"external id":3,"registers per thread":10,"grid":[1,1,1],"block":[32,1,1]}},
{"ph":"X","cat":"Memset","name":"Memset (Device)","pid":0,"tid":"stream 7","ts":60,"dur":1,"args":{"device":0,"stream":7,"bytes":16}},
{"ph":"X","cat":"User Annotation","name":"ProfilerStep#1","pid":9,"tid":"9","ts":0,"dur":99,"args":{}},
{"name":"thread_name","ph":"M","ts":1,"pid":0,"tid":"stream 7","args":{"name":"stream 7"}}]}`,
			[]string{"range ProfilerStep#1 on 9/9", "op aten::mm on 9/9", "call cudaLaunchKernel on 9/9 in aten::mm", "kernel gemm on 0/7 from cudaLaunchKernel", "memset Memset (Device) on 0/7"}},
		{"begin and end events", `{"traceEvents":[
{"ph":"B","cat":"cpu_op","name":"outer","pid":1,"tid":1,"ts":1},
{"ph":"B","cat":"cpu_op","name":"inner","pid":1,"tid":1,"ts":2},
{"ph":"E","pid":1,"tid":1,"ts":3,"cat":"cpu_op"},
{"ph":"E","pid":1,"tid":1,"ts":9,"cat":"cpu_op"},
{"ph":"E","pid":1,"tid":1,"ts":10,"cat":"cpu_op"}]}`, []string{"op outer on 1/1", "op inner on 1/1 in outer"}},
		{"ends without a category", `{"traceEvents":[
{"ph":"B","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":1,"args":{"device":0}},
{"ph":"E","pid":0,"tid":7,"ts":3}]}`, []string{"kernel gemm on 0/7"}},
		{"XPU", `{"traceEvents":[
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":1,"dur":9,"args":{"External id":3}},
{"ph":"X","cat":"xpu_runtime","name":"urEnqueueKernelLaunch","pid":1,"tid":1,"ts":2,"dur":3,"args":{"correlation":8}},
{"ph":"X","cat":"kernel","name":"gemm_kernel","pid":0,"tid":1,"ts":20,"dur":3,"args":{"device":0,"correlation":8}}]}`,
			[]string{"op aten::mm on 1/1", "call urEnqueueKernelLaunch on 1/1 in aten::mm", "kernel gemm_kernel on 0/1 from urEnqueueKernelLaunch"}},
		{"ROCm", `{"traceEvents":[
{"ph":"X","cat":"cuda_runtime","name":"hipMemcpyWithStream","pid":1,"tid":1,"ts":2,"dur":3,"args":{"correlation":8,"src":"0x55674ecd4180","dst":"0x7fda0e810200","size":"2560","kind":"1"}},
{"ph":"X","cat":"kernel","name":"CopyHostToDevice","pid":2,"tid":0,"ts":20,"dur":3,"args":{"device":2,"correlation":8,"stream":0}},
{"ph":"X","cat":"kernel","name":"FillBufferAligned","pid":2,"tid":0,"ts":24,"dur":3,"args":{"device":2,"stream":0}},
{"ph":"X","cat":"kernel","name":"Marker","pid":2,"tid":0,"ts":30,"dur":0,"args":{"device":2,"correlation":0,"stream":0}}]}`,
			[]string{"call hipMemcpyWithStream on 1/1", "copy CopyHostToDevice on 2/0 of 2560 bytes from hipMemcpyWithStream", "memset FillBufferAligned on 2/0", "other Marker on 2/0"}},
		{"MTIA", `{"traceEvents":[
{"ph":"X","cat":"mtia_runtime","name":"runFunction - job_prep_and_submit_for_execution","pid":1,"tid":1,"ts":2,"dur":3,"args":{"correlation":8}},
{"ph":"X","cat":"mtia_ccp_events","name":"fc-dtype_Float","pid":9,"tid":4,"ts":20,"dur":3,"args":{"stream":1,"correlation":8}},
{"ph":"X","cat":"mtia_ccp_events","name":"dma_request","pid":9,"tid":4,"ts":24,"dur":3,"args":{"stream":1,"size":16}},
{"ph":"X","cat":"mtia_ccp_events","name":"event_wait","pid":9,"tid":4,"ts":30,"dur":3,"args":{"stream":1}}]}`,
			[]string{"call runFunction - job_prep_and_submit_for_execution on 1/1", "kernel fc-dtype_Float on 9/4 from runFunction - job_prep_and_submit_for_execution", "copy dma_request on 9/4 of 16 bytes", "sync event_wait on 9/4"}},
		{"Ascend", `[
{"ph":"X","name":"ProfilerStep#6","pid":1,"tid":10,"ts":"1.000","dur":900,"args":{}},
{"ph":"X","name":"aten::mul","cat":"cpu_op","pid":1,"tid":10,"ts":"5.000","dur":8,"args":{"Sequence number":3}},
{"ph":"X","name":"AscendCL@aclnnMul","pid":3,"tid":10,"ts":"6.000","dur":2,"args":{"connection_id":4}},
{"ph":"X","name":"Mul","pid":2,"tid":47,"ts":"100.250","dur":7,"args":{"Task Type":"AI_VECTOR_CORE","Stream Id":47}},
{"ph":"X","name":"MEMCPY_ASYNC","pid":2,"tid":47,"ts":"120.000","dur":7,"args":{"Task Type":"SDMA"}},
{"ph":"X","name":"EVENT_WAIT","pid":2,"tid":47,"ts":"130.000","dur":7,"args":{}},
{"ph":"X","name":"hcom_allReduce__1","pid":4,"tid":3,"ts":"140.000","dur":7,"args":{}},
{"ph":"s","cat":"async_npu","name":"torch_to_npu","id":"100250","pid":1,"tid":10,"ts":"5.000"},
{"ph":"f","cat":"async_npu","name":"torch_to_npu","id":"100250","pid":2,"tid":47,"ts":"100.250","bp":"e"},
{"ph":"M","name":"process_name","pid":1,"tid":0,"args":{"name":"Python"}},
{"ph":"M","name":"process_name","pid":2,"tid":0,"args":{"name":"Ascend Hardware"}},
{"ph":"M","name":"process_name","pid":3,"tid":0,"args":{"name":"CANN"}},
{"ph":"M","name":"process_name","pid":4,"tid":0,"args":{"name":"Communication"}}]`,
			[]string{"range ProfilerStep#6 on 1/10", "op aten::mul on 1/10", "call AscendCL@aclnnMul on 3/10", "kernel Mul on 2/47 from aten::mul", "copy MEMCPY_ASYNC on 2/47",
				"sync EVENT_WAIT on 2/47", "gpu range hcom_allReduce__1 on 4/3"}},
		{"a category nobody knows", `{"traceEvents":[{"ph":"X","cat":"cuda_profiler_range","name":"r","pid":1,"tid":1,"ts":1,"dur":2}]}`, []string{"other r on 1/1"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ix, err := readAll([]byte(test.text), blockBytes, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(test.want, summary(ix)); d != "" {
				t.Error(d)
			}
			if len(ix.Warnings) > 0 {
				t.Errorf("warnings %v", ix.Warnings)
			}
		})
	}
}

// A list of anything is no trace; one of events is, whatever of it can be used.
func TestList(t *testing.T) {
	noEvents, metadata := strings.Repeat(`{"range":1},`, 500), strings.Repeat(`{"ph":"M","name":"thread_name","pid":1,"tid":1,"args":{"name":"main"}},`, 500)
	for text, isTrace := range map[string]bool{
		`[{"range":1}]`:         false,
		`[{}]`:                  false,
		`[1, "two", null, [3]]`: false,
		`[{"name":"a","ts":1,"dur":2},{"name":"b","ts":4,"dur":2}]`: false,
		`[{"a":{"ph":"X","name":"inner","ts":1}}]`:                  false,
		`[` + noEvents + `{}]`:                                      false,
		`[]`:                                                        true,
		`[{"ph":"M","name":"process_name","pid":1,"args":{"name":"python"}}]`: true,
		`[null, {"ph":"C","name":"queue","pid":1,"ts":1}]`:                    true,
		`[{"range":1}, ` + eventText(1) + `]`:                                 true,
		`[` + metadata + eventText(1) + `, null]`:                             true,
		`[` + noEvents + eventText(1) + `]`:                                   true,
	} {
		for _, fork := range []int{math.MaxInt, 1} {
			_, err := readForked([]byte(text), blockBytes, 1<<20, fork)
			if isTrace && err != nil || !isTrace && (!errors.Is(err, ErrNotTrace) || !strings.Contains(err.Error(), "a JSON array, but not of events")) {
				t.Errorf("%.60s (fork at %d): a trace: %t; error %v", text, fork, isTrace, err)
			}
		}
	}
}

// What begins and never ends is counted; on the host it is taken to last until the end.
func TestUnendedEvents(t *testing.T) {
	ix, err := readAll([]byte(`{"traceEvents":[
{"ph":"B","cat":"python_function","name":"train.py(1): main","pid":1,"tid":1,"ts":1},
{"ph":"B","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":2,"args":{"device":0}},
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":5,"dur":2}]}`), blockBytes, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"python train.py(1): main on 1/1", "op aten::mm on 1/1 in train.py(1): main"}, summary(ix)); d != "" {
		t.Error(d)
	}
	if len(ix.Warnings) != 1 || ix.Warnings[0].Code != "unended-event" || !strings.Contains(ix.Warnings[0].Message, "2 events") {
		t.Errorf("warnings %v", ix.Warnings)
	}
}

// Absolute times beside a base (a mix some versions wrote) are not added up.
func TestBaseTime(t *testing.T) {
	for text, want := range map[string]int64{
		`{"traceEvents":[{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1712345678901234.125,"dur":1}]}`:                                                 1712345678901234125,
		`{"baseTimeNanoseconds":1712000000000000000,"traceEvents":[{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":345678901234.125,"dur":1}]}`:           1712345678901234125,
		`{"traceEvents":[{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":345678901234.125,"dur":1}],"baseTimeNanoseconds":1712000000000000000}`:           1712345678901234125,
		`{"baseTimeNanoseconds":1712000000000000000,"traceEvents":[{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1712345678901234.125,"dur":1}]}`:       1712345678901234125,
		`{"baseTimeNanoseconds":"1712000000000000000","traceEvents":[{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":"345678901234.125","dur":"1.000"}]}`: 1712345678901234125,
	} {
		ix, err := readAll([]byte(text), blockBytes, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if got := ix.Meta.BaseUnixNs + ix.Events.StartNs[0]; got != want {
			t.Errorf("%s: at %d", text, got)
		}
	}
}

// Before torch 2.5 only the op that starts a collective says what it is.
func TestCollectiveOfOp(t *testing.T) {
	ix, err := readAll([]byte(`{"traceEvents":[
{"ph":"X","cat":"cpu_op","name":"record_param_comms","pid":1,"tid":1,"ts":10,"dur":50,"args":{"External id":4,"Collective name":"allreduce","Process Group Name":"0","Process Group Ranks":"[0, 1]","Group size":2,"dtype":"Float","In msg nelems":12,"Seq":7}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernelExC","pid":1,"tid":1,"ts":20,"dur":5,"args":{"correlation":9}},
{"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce_Sum_f32_RING_LL","pid":0,"tid":20,"ts":30,"dur":40,"args":{"device":0,"stream":20,"correlation":9}},
{"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce_Sum_f32_RING_LL","pid":0,"tid":20,"ts":80,"dur":40,"args":{"device":0,"stream":20,"correlation":10}}]}`), blockBytes, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	c, ok := ix.CollectiveOf(ix.GPUEvents[0])
	want := traceindex.Collective{Name: "allreduce", GroupName: "0", Ranks: "[0, 1]", GroupSize: 2, Type: "Float", InElements: 12, Sequence: 7}
	if d := cmp.Diff(want, c); !ok || d != "" {
		t.Errorf("%t %s", ok, d)
	}
	if _, ok := ix.CollectiveOf(ix.GPUEvents[1]); ok {
		t.Error("a kernel without a launch has a collective")
	}
}
