package diagnose

import (
	"strings"

	"stepline/traceindex"
)

// TensorCores is what a kernel's name proves about its use of tensor cores. Names that prove nothing are TensorCoresUnknown.
type TensorCores uint8

const (
	TensorCoresUnknown TensorCores = iota
	TensorCoresUsed
	TensorCoresUnused
)

// tensorNames are parts of names of kernels built on tensor-core instructions: cuBLAS's nvjet, CUTLASS's *mma, cuDNN's xmma, the
// fused attentions.
var tensorNames = []string{"nvjet", "tensorop", "s16816", "s1688", "h16816", "hmma", "imma", "wgmma", "gmma", "cutlass_sm80", "cutlass_sm90", "cutlass3x_sm90", "cutlass3x_sm100", "sm90_xmma", "sm80_xmma", "flash_fwd", "flash_bwd", "fmha_cutlass", "cudnn_generated_fort_native_sdpa"}

// simtNames are parts of names of matrix kernels without them: cuBLAS's and CUTLASS's SIMT variants.
var simtNames = []string{"sgemm", "simt", "dgemm", "sgemv", "gemv2", "gemvnsp"}

// TensorCoresOf reads a kernel's name.
func TensorCoresOf(kernel string) TensorCores {
	kernel = strings.ToLower(kernel)
	for _, s := range simtNames {
		// "s1688gemm" ends like sgemm kernels do; tensor names are looked for in what is left.
		if strings.Contains(kernel, s) && !containsAny(kernel, tensorNames) {
			return TensorCoresUnused
		}
	}
	if containsAny(kernel, tensorNames) {
		return TensorCoresUsed
	}
	return TensorCoresUnknown
}

func containsAny(s string, parts []string) bool {
	for _, p := range parts {
		if strings.Contains(s, p) {
			return true
		}
	}
	return false
}

// lowIntensityNames are parts of names of kernels that move much more than they compute: elementwise, copies, casts, reductions,
// normalisations, softmax, gathers (PyTorch's own kernels, aten/src/ATen/native/cuda).
var lowIntensityNames = []string{"elementwise", "vectorized", "unrolled", "reduce_kernel", "softmax", "SoftMax", "layer_norm", "LayerNorm", "batch_norm", "bn_fw", "bn_bw", "GroupNorm", "CatArray", "index", "gather", "scatter", "embedding", "multi_tensor_apply", "copy_", "fill", "FillFunctor", "triu_tril", "triton_poi", "triton_red", "triton_per", "nll_loss", "max_pool", "avg_pool", "nchwToNhwc", "nhwcToNchw", "transpose", "dropout"}

// isLowIntensity reports whether a kernel's name shows that it is bound by memory traffic.
func isLowIntensity(kernel string) bool { return containsAny(kernel, lowIntensityNames) }

// kernelSum is the time of some kernels of a run.
type kernelSum struct {
	ns    int64
	count int
	name  string // of the most expensive one
	top   int64
}

func (k *kernelSum) add(name string, ns int64) {
	k.ns += ns
	k.count++
	if ns > k.top {
		k.top, k.name = ns, name
	}
}

// kernelsWhere sums the kernels within the steps whose names satisfy a test, over all ranks; the test runs once a distinct name.
func kernelsWhere(run *traceindex.Run, test func(string) bool) kernelSum {
	var sum kernelSum
	for _, ix := range run.Ranks {
		span := ix.StepsSpan()
		verdict := map[traceindex.NameID]bool{}
		for _, e := range ix.GPUEvents {
			start := ix.Events.StartNs[e]
			if ix.Events.Category[e] != traceindex.CategoryKernel || start < span.StartNs || start >= span.EndNs {
				continue
			}
			id := ix.Events.Name[e]
			yes, known := verdict[id]
			if !known {
				yes = test(ix.Names[id])
				verdict[id] = yes
			}
			if yes {
				sum.add(ix.Names[id], ix.GPUDurNs(e))
			}
		}
	}
	return sum
}
