-- Two runs, line by line: GPU time a step on each, averaged over ranks. Before it:
--   SET VARIABLE base = '/shared/run41'; SET VARIABLE new = '/shared/run42';
-- A step of a run is one sample, the mean over its ranks; stepline diff adds Welch's test for what is noise.
WITH cost AS (
  SELECT 'base' AS side, rank, step, file, line, sum(duration_ns) AS ns
  FROM read_parquet(getvariable('base') || '/gpu/*/part.parquet', hive_partitioning = true)
  WHERE reason = '' AND step >= 0 GROUP BY ALL
  UNION ALL
  SELECT 'new', rank, step, file, line, sum(duration_ns)
  FROM read_parquet(getvariable('new') || '/gpu/*/part.parquet', hive_partitioning = true)
  WHERE reason = '' AND step >= 0 GROUP BY ALL
),
steps AS (
  SELECT 'base' AS side, rank, step FROM read_parquet(getvariable('base') || '/steps/*/part.parquet', hive_partitioning = true)
  UNION ALL
  SELECT 'new', rank, step FROM read_parquet(getvariable('new') || '/steps/*/part.parquet', hive_partitioning = true)
),
members AS (SELECT side, step, count(*) AS ranks FROM steps GROUP BY ALL),
samples AS (SELECT side, step, file, line, sum(ns) / any_value(ranks) AS ns FROM cost JOIN members USING (side, step) GROUP BY ALL),
counts AS (SELECT side, count(*) AS steps FROM members GROUP BY side),
means AS (SELECT side, file, line, sum(ns) / any_value(steps) AS ns FROM samples JOIN counts USING (side) GROUP BY side, file, line)
SELECT
  file, line,
  coalesce(b.ns, 0) / 1e3                                AS base_us,
  coalesce(n.ns, 0) / 1e3                                AS new_us,
  (coalesce(n.ns, 0) - coalesce(b.ns, 0)) / 1e3          AS delta_us
FROM (SELECT * FROM means WHERE side = 'base') b
FULL JOIN (SELECT * FROM means WHERE side = 'new') n USING (file, line)
ORDER BY abs(delta_us) DESC, file, line;
