// Package verify measures whether a change made a training faster and left its results alone: the package behind
// `stepline verify`.
//
// Two sides, base and new, are run in turn: base, new, new, base, base, new, …, so that a machine that slows down during the
// measurement slows both alike. A side is a git commit in a temporary worktree, or a command. Steps inside one run go up and
// down together, so a run counts once: its mean step is the sample, and Welch's t-test (traceindex/compare) over the runs says
// what is more than noise.
//
// Steps, losses, loader waits and memory peaks come from the recorder's timing part, which needs no profiler and no edit, or
// from patterns over the command's output. Both sides start from one seed; losses are compared one by one. Where a side's own
// runs differ among themselves, no smaller difference between the sides is called one.
//
// The user's checkout is read, never written: worktrees lie in a temporary folder, uncommitted changes get there through
// `git stash create`, which touches neither files nor the list of stashes, and everything is removed when Run returns, also
// when its context is cancelled.
//
// Importers: cmd. It imports report (units and printable text), traceindex/recorder and traceindex/compare.
package verify
