package ncu

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

func TestParseName(t *testing.T) {
	tests := []struct{ name, base string }{
		{"gemm", "gemm"},
		{"nvjet_sm90_tst_192x128_64x5_1x2_h_bz_coopB_NNT", "nvjet_sm90_tst_192x128_64x5_1x2_h_bz_coopB_NNT"},
		{"void gemm<float, 128, 64>(float *, int)", "gemm"},
		{"void (anonymous namespace)::softmax_warp_forward<float, float, float, 9, false, false>(float*, float const*)", "softmax_warp_forward"},
		{"void <unnamed>::softmax_warp_forward<float, float, float, 9, 0, 0>(T2 *, const T1 *)", "softmax_warp_forward"},
		{"void at::native::(anonymous namespace)::CatArrayBatchedCopy<at::native::(anonymous namespace)::OpaqueType<2u>, unsigned int, 3, 64, 64>(int)", "CatArrayBatchedCopy"},
		{"void cutlass::Kernel2<cutlass_80_tensorop_f16_s16816gemm>(cutlass_80_tensorop_f16_s16816gemm::Params)", "Kernel2"},
		{"std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int>(int)", "kernel"},
		{"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "ncclDevKernel_AllReduce_Sum_f32_RING_LL"},
		{"", ""},
		{"<>(", ""},
	}
	for _, test := range tests {
		if got := parseName(test.name).base; got != test.base {
			t.Errorf("parseName(%q) = %q, want %q", test.name, got, test.base)
		}
	}
}

// traceKernels are the kernels of the GPT script's trace, read with encoding/json.
func traceKernels(t *testing.T) []Kernel {
	t.Helper()
	file, err := os.Open("../../testdata/traces/gpt/trace.json.gz")
	if err != nil {
		t.Skip("no gpt trace in testdata")
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(bufio.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	var trace struct {
		TraceEvents []struct {
			Cat, Name string
			Args      struct{ Grid, Block [3]int32 }
		}
	}
	if err := json.NewDecoder(unzipped).Decode(&trace); err != nil {
		t.Fatal(err)
	}
	var kernels []Kernel
	for _, event := range trace.TraceEvents {
		if event.Cat == "kernel" {
			kernels = append(kernels, Kernel{event.Name, event.Args.Grid, event.Args.Block})
		}
	}
	return kernels
}

// TestJoinWithTrace joins the recorded reports with the trace of the same script: every launch of the report must be found
// from the trace's side, as the same kernel.
func TestJoinWithTrace(t *testing.T) {
	kernels := traceKernels(t)
	for _, page := range []string{"details", "raw"} {
		report := read(t, "testdata/gpt.ncu."+page+".csv.gz")
		if message, ok := report.Compare(kernels); !ok {
			t.Errorf("%s: %s", page, message)
		}
		found := map[*Launch]How{}
		seen := map[Kernel]int{}
		for _, kernel := range kernels {
			launch, how := report.ForKernel(kernel.Name, kernel.Grid, kernel.Block, seen[kernel])
			seen[kernel]++
			if launch == nil {
				continue
			}
			if how == SameShape {
				t.Errorf("%s: %q joined to %q by shape only", page, kernel.Name, launch.Kernel)
			}
			found[launch] = how
		}
		if len(found) != len(report.Launches) {
			t.Errorf("%s: %d of %d launches found", page, len(found), len(report.Launches))
		}
	}
}

// TestLikeness: the demanglings of ncu, the PyTorch profiler and Nsight Systems are told to be the same.
func TestLikeness(t *testing.T) {
	const (
		compute = "void at::vectorized_elementwise_kernel<4, at::AUnaryFunctor<float, float, float, binary_internal::MulFunctor<float>>, std::array<char *, 2>>(int, T2, T3)"
		torch   = "void at::native::vectorized_elementwise_kernel<4, at::native::AUnaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float> >, std::array<char*, 2ul> >(int, at::native::AUnaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float> >, std::array<char*, 2ul>)"
		systems = "void at::native::vectorized_elementwise_kernel<(int)4, at::native::AUnaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float>>, std::array<char *, (unsigned long)2>>(int, T2, T3)"
		other   = "void at::native::vectorized_elementwise_kernel<(int)4, at::native::CUDAFunctor_add<float>, std::array<char *, (unsigned long)3>>(int, T2, T3)"
	)
	for _, name := range []string{torch, systems} {
		if likeness := parseName(compute).likeness(parseName(name)); likeness != 1 {
			t.Errorf("%v for %s", likeness, name)
		}
	}
	if likeness := parseName(compute).likeness(parseName(other)); likeness >= sameArguments {
		t.Errorf("%v for another kernel", likeness)
	}
}

func TestForKernel(t *testing.T) {
	report := parse(t, detailsHeader+
		`"0","1","void f<float, 4>(T1 *)","(128, 1, 1)","(8, 1, 1)","S","Duration","ns","1"`+"\n"+
		`"1","1","void f<int, 4>(T1 *)","(128, 1, 1)","(8, 1, 1)","S","Duration","ns","1"`+"\n"+
		`"2","1","void f<int, 4>(T1 *)","(128, 1, 1)","(8, 1, 1)","S","Duration","ns","1"`+"\n"+
		`"3","1","void f<int, 4>(T1 *)","(128, 1, 1)","(9, 1, 1)","S","Duration","ns","1"`)
	grid, block := [3]int32{8, 1, 1}, [3]int32{128, 1, 1}
	tests := []struct {
		name string
		grid [3]int32
		n    int
		id   int64
		how  How
	}{
		{"void ns::f<float, 4>(float*)", grid, 0, 0, SameKernel},
		{"void ns::f<float, 4>(float*)", grid, 7, 0, SameKernel},
		{"void ns::f<int, 4>(int*)", grid, 0, 1, SameKernel},
		{"void ns::f<int, 4>(int*)", grid, 1, 2, SameKernel},
		{"void ns::f<int, 4>(int*)", [3]int32{9, 1, 1}, 0, 3, SameKernel},
		{"void ns::f<double, 8>(int*)", grid, 0, -1, NotFound},
		{"f", grid, 0, 0, SameShape},
		{"void ns::f<int, 4>(int*)", [3]int32{7, 1, 1}, 0, -1, NotFound},
		{"void ns::f<int, 4>(int*)", [3]int32{}, 0, 1, SameName},
		{"void g<int, 4>(int*)", grid, 0, -1, NotFound},
	}
	for _, test := range tests {
		launch, how := report.ForKernel(test.name, test.grid, block, test.n)
		id := int64(-1)
		if launch != nil {
			id = launch.ID
		}
		if how != test.how || id != test.id {
			t.Errorf("%s grid %v n %d: launch %d, %d; want %d, %d", test.name, test.grid, test.n, id, how, test.id, test.how)
		}
	}
	warning := report.Warning([]Kernel{{"void ns::f<int, 4>(int*)", grid, block}})
	if warning == nil || !strings.Contains(warning.Message, "1 of its 4 launches have a grid or block the trace does not have (first: f with grid [9 1 1]") {
		t.Errorf("warning %+v", warning)
	}
	warning = report.Warning([]Kernel{{"h", grid, block}})
	if warning == nil || !strings.Contains(warning.Message, "4 of its 4 launches are of kernels the trace does not have (first: f)") {
		t.Errorf("warning %+v", warning)
	}
}
