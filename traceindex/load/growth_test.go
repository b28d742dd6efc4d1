package load

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"stepline/traceindex"
	"stepline/traceindex/kineto"
)

// eventsPerStep is what one step of writeRun has: 4 layers of 12 events, forward and backward, and 3 of its own.
const eventsPerStep = 4*12 + 3

// writeRun writes a sound trace of any length, shaped as torch 2.4+ writes them: frames, ops with shapes and sequence numbers,
// launches, kernels with their args, backward on a thread of its own. All ids are unique, as they are in a real run.
func writeRun(w io.Writer, steps int) error {
	out := bufio.NewWriterSize(w, 1<<16)
	fmt.Fprint(out, `{"schemaVersion":1,"deviceProperties":[{"id":0,"name":"Test GPU"}],"baseTimeNanoseconds":1712000000000000000,"traceEvents":[`)
	id, seq := 1, 0
	sep := ""
	emit := func(format string, args ...any) {
		fmt.Fprint(out, sep)
		fmt.Fprintf(out, format, args...)
		sep = ",\n"
	}
	const kernel = `{"ph":"X","cat":"kernel","name":"void at::native::vectorized_elementwise_kernel<4, at::native::layer%d_functor<float>>(int)","pid":0,"tid":7,"ts":%d.%03d,"dur":%d.5,"args":{"External id":%d,"queued":0,"device":0,"context":1,"stream":7,"correlation":%d,"registers per thread":32,"shared memory":0,"blocks per SM":1.5,"warps per SM":6.0,"grid":[198,1,1],"block":[128,1,1],"est. achieved occupancy %%":9}}`
	for step := range steps {
		t := 1000 + 1000*step
		root := id
		emit(`{"ph":"X","cat":"user_annotation","name":"ProfilerStep#%d","pid":4,"tid":4,"ts":%d.000,"dur":990.000,"args":{"External id":%d}}`, step%1000, t, id)
		emit(`{"ph":"X","cat":"python_function","name":"train.py(10): step","pid":4,"tid":4,"ts":%d.001,"dur":980.000,"args":{"Python parent id":null,"Python id":%d,"Ev Idx":%d}}`, t, root, id)
		emit(`{"ph":"X","cat":"cuda_runtime","name":"cudaStreamSynchronize","pid":4,"tid":4,"ts":%d.000,"dur":50.000,"args":{"cbid":131,"correlation":%d}}`, t+900, id)
		for layer := range 4 {
			at := t + 10 + 100*layer
			id += 20
			seq++
			emit(`{"ph":"X","cat":"python_function","name":"nn.Module: Linear_%d","pid":4,"tid":4,"ts":%d.000,"dur":90.000,"args":{"Python parent id":%d,"Python id":%d,"Python module id":%d,"Ev Idx":%d}}`, layer, at, root, id+1, layer, id)
			emit(`{"ph":"X","cat":"python_function","name":"model.py(%d): forward","pid":4,"tid":4,"ts":%d.100,"dur":80.000,"args":{"Python parent id":%d,"Python id":%d,"Ev Idx":%d}}`, 20+layer, at, id+1, id+2, id+1)
			emit(`{"ph":"X","cat":"cpu_op","name":"aten::linear","pid":4,"tid":4,"ts":%d.000,"dur":60.000,"args":{"External id":%d,"Record function id":0,"Sequence number":%d,"Fwd thread id":0,"Concrete Inputs":["","",""],"Input type":["float","float","float"],"Input Strides":[[256,1],[256,1],[1]],"Input Dims":[[64,256],[256,256],[256]],"Ev Idx":%d}}`, at+1, id+3, seq, id+2)
			emit(`{"ph":"X","cat":"cpu_op","name":"aten::addmm","pid":4,"tid":4,"ts":%d.000,"dur":50.000,"args":{"External id":%d,"Record function id":0,"Sequence number":%d,"Fwd thread id":0,"Concrete Inputs":["","","","1","1"],"Input type":["float","float","float","Scalar","Scalar"],"Input Strides":[[1],[256,1],[1,256],[],[]],"Input Dims":[[256],[64,256],[256,256],[],[]],"Ev Idx":%d}}`, at+5, id+4, seq, id+3)
			emit(`{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":4,"tid":4,"ts":%d.250,"dur":5.125,"args":{"External id":%d,"cbid":211,"correlation":%d}}`, at+10, id+4, id+5)
			emit(`{"ph":"s","id":%d,"pid":4,"tid":4,"ts":%d.250,"cat":"ac2g","name":"ac2g"}`, id+5, at+10)
			emit(kernel, layer, at+30, 125, 40, id+4, id+5)
			emit(`{"ph":"X","cat":"cpu_op","name":"autograd::engine::evaluate_function: AddmmBackward0","pid":4,"tid":9,"ts":%d.000,"dur":20.000,"args":{"External id":%d,"Record function id":0,"Sequence number":%d,"Fwd thread id":1,"Ev Idx":%d}}`, t+500+40*(4-layer), id+6, seq, id+5)
			emit(`{"ph":"X","cat":"cpu_op","name":"AddmmBackward0","pid":4,"tid":9,"ts":%d.500,"dur":18.000,"args":{"External id":%d,"Sequence number":%d,"Fwd thread id":1,"Record function id":0,"Ev Idx":%d}}`, t+500+40*(4-layer), id+7, seq, id+6)
			emit(`{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":4,"tid":9,"ts":%d.250,"dur":5.125,"args":{"External id":%d,"cbid":211,"correlation":%d}}`, t+505+40*(4-layer), id+7, id+8)
			emit(kernel, layer+10, t+520+40*(4-layer), 250, 30, id+7, id+8)
			emit(`{"ph":"f","id":%d,"pid":0,"tid":7,"ts":%d.250,"cat":"ac2g","name":"ac2g","bp":"e"}`, id+8, t+520)
		}
		id += 20
	}
	fmt.Fprint(out, "]}\n")
	return out.Flush()
}

// buildRun reads a run of writeRun as it is written.
func buildRun(tb testing.TB, steps int) *traceindex.Index {
	r, w := io.Pipe()
	go func() { w.CloseWithError(writeRun(w, steps)) }()
	b, err := kineto.Read(context.Background(), r, "run")
	if err != nil {
		tb.Fatal(err)
	}
	ix, err := b.Build(context.Background())
	if err != nil {
		tb.Fatal(err)
	}
	return ix
}

func TestGeneratedRun(t *testing.T) {
	const steps = 300
	ix := buildRun(t, steps)
	linked := 0
	for _, g := range ix.GPUEvents {
		if ix.Launch[g] != traceindex.NoEvent {
			linked++
		}
	}
	if ix.Events.Len() != steps*(eventsPerStep-8) || linked != 8*steps || len(ix.ForwardOf) != 4*steps || len(ix.Steps) != steps || len(ix.Warnings) > 0 {
		t.Errorf("%d events, %d linked, %d backward, %d steps, %v", ix.Events.Len(), linked, len(ix.ForwardOf), len(ix.Steps), ix.Warnings)
	}
	if want := int64(steps * 4 * (40500 + 30500)); ix.GPUTotalNs() != want {
		t.Errorf("%d ns of GPU time, want %d", ix.GPUTotalNs(), want)
	}
}

// What an index keeps alive is at most 64 bytes an event, besides names.
func TestBytesPerEvent(t *testing.T) {
	heap := func() int64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	ix := buildRun(t, 6000)
	kept := heap() - before
	names := int64(0)
	for _, n := range ix.Names {
		names += int64(len(n)) + 16
	}
	perEvent := float64(kept-names) / float64(ix.Events.Len())
	t.Logf("%d events, %.1f bytes an event, %d bytes of names", ix.Events.Len(), perEvent, names)
	if perEvent > 64 {
		t.Errorf("%.1f bytes an event", perEvent)
	}
	runtime.KeepAlive(ix)
}

// BenchmarkGrowth opens runs of 1× to 8× the length: time and memory an event stay.
func BenchmarkGrowth(b *testing.B) {
	for _, times := range []int{1, 2, 4, 8} {
		b.Run(fmt.Sprintf("%d×", times), func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "run.json")
			f, err := os.Create(path)
			if err != nil {
				b.Fatal(err)
			}
			if err := errors.Join(writeRun(f, 1000*times), f.Close()); err != nil {
				b.Fatal(err)
			}
			var events int
			for b.Loop() {
				run, err := Open(context.Background(), []string{path}, Options{NoCache: true})
				if err != nil {
					b.Fatal(err)
				}
				events = run.Ranks[0].Events.Len()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(events), "ns/event")
		})
	}
}
