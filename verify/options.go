package verify

import (
	"errors"
	"fmt"
	"io"
	"time"
)

// Source is what a side runs and where. Exactly one of Ref, WorkingTree and Shell is set, or none of them for the command as
// it is in the current folder.
type Source struct {
	// Ref is a git commit, checked out in a temporary worktree.
	Ref string
	// WorkingTree is the current commit with the uncommitted changes and the untracked files, in a temporary worktree.
	WorkingTree bool
	// Shell is a command line of its own, run by the shell in the current folder.
	Shell string
}

// checkedOut tells whether the source needs a worktree.
func (s Source) checkedOut() bool { return s.Ref != "" || s.WorkingTree }

// Options say what is compared and how often. The zero value of a field means its default, where one is named.
type Options struct {
	// Base is nil where nothing is compared: then only New's loader is measured.
	Base *Source
	New  Source
	// Command is what both sides run, except where a side has a Shell line.
	Command []string
	// Dir is the current folder.
	Dir string
	// Runs is how often each side is run; default 5, at least 2.
	Runs int
	// Warmup is how many first steps of each run are left out; default 5, a negative number means none.
	Warmup int
	// Seed is what torch, random and NumPy start from in each run, nil for their own.
	Seed *int64
	// Step and Loss read the command's output; nil for what the timing part sees.
	Step *StepPattern
	Loss *LossPattern
	// Wall takes each command's whole time for a step.
	Wall bool
	// LossTolerance is the relative difference up to which losses are equal; negative: losses are not compared.
	LossTolerance float64
	// FailAbove is the share by which the mean step may grow beyond noise, negative for no gate.
	FailAbove float64
	// LoaderBudget is the mean time that New's loader may take for a batch, 0 for no budget.
	LoaderBudget time.Duration
	// Copy and Link name files and folders of the checkout that both worktrees get: a copy, or a symbolic link to data.
	Copy, Link []string
	// Env is the environment of the commands; Told gets a line for each run.
	Env  []string
	Told io.Writer
}

func (o Options) withDefaults() (Options, error) {
	switch {
	case o.Runs == 0:
		o.Runs = 5
	case o.Runs < 2:
		return o, fmt.Errorf("%d runs: a single one has no scatter to tell noise by; use 2 or more", o.Runs)
	}
	switch {
	case o.Warmup == 0:
		o.Warmup = 5
	case o.Warmup < 0:
		o.Warmup = 0
	}
	if len(o.Command) == 0 && (o.New.Shell == "" || o.Base != nil && o.Base.Shell == "") {
		return o, errors.New("no command to run: give it after `--`, as in `stepline verify --base main -- python bench.py`")
	}
	if o.Base == nil && o.LoaderBudget == 0 {
		return o, errors.New("nothing to compare with: name the base, as in `stepline verify --base main -- python bench.py`, or give --base-command or --loader-budget")
	}
	if o.Told == nil {
		o.Told = io.Discard
	}
	return o, nil
}
