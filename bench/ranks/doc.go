// Command ranks measures reports on runs of many ranks: `make bench`.
//
// It indexes the two ranks of the shipped DDP run, makes 1,024 of them (generate.go): each rank a copy of one of the two with its
// own jitter, one rank late in every collective, and once more with one line slower, as the run to compare with. Then it times
// `stepline report` and `stepline diff` on the sets, with their peak memory, and DuckDB on the same joins (docs/sql) where
// scripts/ranks-python.sh has installed it.
//
// It prints rows of the table that command bench begins. Nothing is asserted here. Nobody imports it.
package main
