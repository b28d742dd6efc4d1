// Package compare tells two recorded runs apart: what changed per step, by line, op, kernel and cause of idle time, and which of
// it is more than the steps' own scatter.
//
// Everything is measured per step, so a difference comes with its spread: the steps of each side are samples, and Welch's t-test
// says whether their means differ (welch.go). What the test does not tell apart is called noise and never a gain.
//
// Lines are matched through a Follow function, which knows how the source was edited between the two runs; this package knows no
// source text.
//
// A side is read from memory, or given as StepSamples where its ranks were indexed apart (rankset).
//
// Importers: analysis, report and rankset. It imports traceindex, traceindex/attribute and traceindex/diagnose.
package compare
