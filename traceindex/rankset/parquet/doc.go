// Package parquet keeps the tables of rankset as Parquet files, one folder a table and one a rank:
//
//	DIR/steps/rank=3/part.parquet
//	DIR/lines/rank=3/part.parquet
//	…
//	DIR/ranks/rank=3/part.parquet
//
// The layout is the one that DuckDB, Spark, Polars and others read as a table partitioned by rank. Ranks share no file, so that
// each rank's job writes on its own and needs to know of no other.
//
// Write puts every table beside its place first and renames them then, ranks last: a rank that ranks names is complete. Each file
// says in its metadata which table, rank and version it is of and which writing it comes from; files of two writings are never
// read as one rank. Write on a rank that is there replaces it.
//
// Open lists a set's ranks and Set.Merge reads them through rankset.Merge, a few at a time. Damaged, missing, half-written and
// foreign files cost their rank and a sentence, never the run.
//
// This is the only package that imports arrow-go, which is large: nothing else of stepline knows the format. Importers:
// cmd/stepline and bench. It imports traceindex/rankset and what that is made of.
package parquet
