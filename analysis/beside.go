package analysis

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"stepline/report"
	"stepline/traceindex"
	"stepline/traceindex/load"
	"stepline/traceindex/memsnap"
	"stepline/traceindex/nccl"
	"stepline/traceindex/ncu"
)

// besideInputs are the inputs beside the traces, read: none of them places GPU time on lines by itself.
type besideInputs struct {
	kernels  *ncu.Report  // nil without a report of Nsight Compute
	logs     *nccl.Report // nil without logs of NCCL
	memory   []*memsnap.Snapshot
	warnings []traceindex.Warning
}

// readBeside reads the inputs beside the traces. What cannot be read is an error that names the file; the others are used.
func readBeside(ctx context.Context, files []traceindex.BesideFile) (*besideInputs, error) {
	in := &besideInputs{}
	var errs []error
	var reports []*ncu.Report
	var logs []string
	refuse := func(path string, err error) {
		text := strings.ReplaceAll(err.Error(), path+": ", "")
		for _, reader := range []string{"ncu: ", "nccl: ", "memsnap: "} {
			text = strings.TrimPrefix(text, reader)
		}
		errs = append(errs, &load.Error{Path: path, Err: errors.New(text)})
	}
	for _, file := range files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		switch file.Kind {
		case traceindex.FileNsightCompute:
			if profiled, err := ncu.Read(ctx, file.Path); err != nil {
				refuse(file.Path, err)
			} else {
				reports = append(reports, profiled)
			}
		case traceindex.FileNCCLLog:
			// One job's logs are read together, each is tried alone first: one that cannot be read costs nothing else.
			if _, err := nccl.Read(ctx, file.Path); err != nil {
				refuse(file.Path, err)
			} else {
				logs = append(logs, file.Path)
			}
		case traceindex.FileMemorySnapshot:
			if snapshot, err := memsnap.Read(ctx, file.Path); err != nil {
				refuse(file.Path, err)
			} else {
				in.memory = append(in.memory, snapshot)
				in.warnings = append(in.warnings, snapshot.Warnings...)
			}
		}
	}
	if len(reports) > 0 {
		in.kernels = ncu.Merge(reports...)
		in.warnings = append(in.warnings, in.kernels.Warnings...)
	}
	if len(logs) > 0 {
		job, err := nccl.Read(ctx, logs...)
		if err != nil {
			errs = append(errs, err)
		} else {
			in.logs = job
			in.warnings = append(in.warnings, job.Warnings...)
		}
	}
	return in, errors.Join(errs...)
}

// joinBeside reads the inputs beside the traces and joins them to the run's lines. The error names inputs that cannot be used; with
// ctx's, nothing is left to use.
func (w *Workspace) joinBeside(ctx context.Context, l *Loaded, sources *ranSources) error {
	if len(l.Run.Beside) == 0 {
		return nil
	}
	in, unusable := readBeside(ctx, l.Run.Beside)
	if err := ctx.Err(); err != nil {
		return err
	}
	l.Run.Warnings = append(l.Run.Warnings, in.warnings...)
	if in.kernels != nil && len(l.Run.Ranks) > 0 {
		if warning := kernelsWarning(in.kernels, l.Run); warning != nil {
			l.Run.Warnings = append(l.Run.Warnings, *warning)
		}
	}
	parts := &report.Beside{}
	if in.kernels != nil {
		parts.Kernels = kernelsPart(l, in.kernels)
	}
	if in.logs != nil {
		part, err := w.ncclPart(ctx, l, in.logs)
		if err != nil {
			return err
		}
		parts.NCCL = part
	}
	if len(in.memory) > 0 {
		part, err := memoryPart(ctx, l, in.memory, sources)
		if err != nil {
			return err
		}
		parts.Memory = part
	}
	if parts.Empty() {
		return unusable
	}
	l.Beside = parts
	for _, path := range besideFiles(parts) {
		if _, known := l.Sources[path]; !known {
			if file := sources.File(path); file != nil {
				l.Sources[path] = file.Text
			}
		}
	}
	return unusable
}

// besideFiles are the workspace files that the inputs beside the traces speak of.
func besideFiles(parts *report.Beside) []string {
	var files []string
	if parts.NCCL != nil {
		for _, place := range parts.NCCL.Places {
			files = append(files, place.File)
		}
	}
	if parts.Memory != nil {
		for _, row := range parts.Memory.Lines {
			if row.Workspace {
				files = append(files, row.File)
			}
		}
	}
	return files
}

// kernelsWarning says whether Nsight Compute profiled another run than the traces'.
func kernelsWarning(profiled *ncu.Report, run *traceindex.Run) *traceindex.Warning {
	seen := map[ncu.Kernel]bool{}
	var kernels []ncu.Kernel
	for _, ix := range run.Ranks {
		for _, event := range ix.GPUEvents {
			if ix.Events.Category[event] != traceindex.CategoryKernel {
				continue
			}
			if kernel := kernelOf(ix, event); !seen[kernel] {
				seen[kernel] = true
				kernels = append(kernels, kernel)
			}
		}
	}
	warning := profiled.Warning(kernels)
	if warning != nil && warning.File == "" && len(profiled.Files) > 0 {
		warning.File = profiled.Files[0]
	}
	return warning
}

// noTrace is the error of inputs without a trace among them that say nothing by themselves either.
func noTrace(run *traceindex.Run, partial error) error {
	if partial != nil {
		return partial
	}
	names := make([]string, len(run.Beside))
	for i, file := range run.Beside {
		names[i] = file.Path
	}
	return fmt.Errorf("%s: nothing in it can be used", strings.Join(names, ", "))
}
