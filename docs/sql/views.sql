-- The tables of a set as views. Before it, name the set:
--   SET VARIABLE ranks = '/shared/run42';
-- Every table gets its column "rank" from the folders' names (rank=3).
CREATE OR REPLACE VIEW ranks       AS SELECT * FROM read_parquet(getvariable('ranks') || '/ranks/*/part.parquet', hive_partitioning = true);
CREATE OR REPLACE VIEW steps       AS SELECT * FROM read_parquet(getvariable('ranks') || '/steps/*/part.parquet', hive_partitioning = true);
CREATE OR REPLACE VIEW gaps        AS SELECT * FROM read_parquet(getvariable('ranks') || '/gaps/*/part.parquet', hive_partitioning = true);
CREATE OR REPLACE VIEW idle        AS SELECT * FROM read_parquet(getvariable('ranks') || '/idle/*/part.parquet', hive_partitioning = true);
CREATE OR REPLACE VIEW lines       AS SELECT * FROM read_parquet(getvariable('ranks') || '/lines/*/part.parquet', hive_partitioning = true);
CREATE OR REPLACE VIEW gpu         AS SELECT * FROM read_parquet(getvariable('ranks') || '/gpu/*/part.parquet', hive_partitioning = true);
CREATE OR REPLACE VIEW collectives AS SELECT * FROM read_parquet(getvariable('ranks') || '/collectives/*/part.parquet', hive_partitioning = true);
