package verify

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"stepline/report"
	"stepline/traceindex/compare"
)

// Run measures and judges. The error is a *[FailedError] where a command failed, ctx's own where it was cancelled; worktrees are
// removed in every case.
func Run(ctx context.Context, o Options) (result *Result, err error) {
	if o, err = o.withDefaults(); err != nil {
		return nil, err
	}
	sources := []Source{o.New}
	if o.Base != nil {
		sources = []Source{*o.Base, o.New}
	}
	var trees *worktrees
	if slices.ContainsFunc(sources, Source.checkedOut) {
		if trees, err = newWorktrees(ctx, o.Dir); err != nil {
			return nil, err
		}
		defer func() {
			if trouble := trees.close(); trouble != nil {
				err = errors.Join(err, trouble)
			}
		}()
	}
	m := &measurement{Options: o}
	for i, source := range sources {
		name := "new"
		if i == 0 && o.Base != nil {
			name = "base"
		}
		s, err := prepare(ctx, trees, source, name, o)
		if err != nil {
			return nil, err
		}
		m.sides = append(m.sides, s)
	}
	m.runs = make([][]*run, len(m.sides))
	if err := m.measure(ctx); err != nil {
		return nil, err
	}
	return m.judge(), nil
}

func prepare(ctx context.Context, trees *worktrees, source Source, name string, o Options) (*side, error) {
	s := &side{name: name, dir: o.Dir, command: o.Command, env: o.Env}
	if source.Shell != "" {
		s.command, s.told = shell(source.Shell), source.Shell
		return s, nil
	}
	if source.checkedOut() {
		folder, told, err := trees.checkout(ctx, source, name, o)
		if err != nil {
			return nil, err
		}
		s.dir, s.told, s.env = filepath.Join(folder, trees.prefix), told, trees.pythonPath(o.Env, folder)
	} else {
		s.told = strings.Join(o.Command, " ")
	}
	if _, err := exec.LookPath(s.command[0]); err != nil && !strings.ContainsAny(s.command[0], `/\`) {
		return nil, fmt.Errorf("cannot run the command: %w", err)
	}
	return s, nil
}

// measurement is one verification under way.
type measurement struct {
	Options
	sides []*side
	runs  [][]*run // a side's
}

// measure runs the sides in turn: base, new, new, base, …. A loader alone is run until the budget is decided, three times
// Runs at most.
func (m *measurement) measure(ctx context.Context) error {
	for round := 0; ; round++ {
		if round >= m.Runs {
			if len(m.sides) > 1 || round >= 3*m.Runs || m.loader().Verdict != LoaderUndecided {
				return nil
			}
		}
		for k := range m.sides {
			at := k
			if round%2 == 1 {
				at = len(m.sides) - 1 - k
			}
			r, err := m.sides[at].once(ctx, m.Options, round+1)
			if err != nil {
				return err
			}
			m.runs[at] = append(m.runs[at], r)
			fmt.Fprintf(m.Told, "stepline verify: %s, run %d of %d: %s\n", m.sides[at].name, round+1, max(m.Runs, round+1), r.sentence())
		}
	}
}

func (r *run) sentence() string {
	var parts []string
	switch {
	case r.clock == wallClock:
		parts = append(parts, report.Duration(r.wallNs)+" in all")
	case len(r.stepNs) > 0:
		parts = append(parts, fmt.Sprintf("%s a step over %d", report.Duration(mean(r.stepNs)), len(r.stepNs)))
	}
	if len(r.waitNs) > 0 {
		parts = append(parts, report.Duration(mean(r.waitNs))+" a batch in the loader")
	}
	if len(parts) == 0 {
		return report.Duration(r.wallNs) + " in all"
	}
	return strings.Join(parts, ", ")
}

func mean(values []float64) float64 {
	m, _ := compare.Interval(values)
	return m
}
