-- Each rank's mean step, as the report's table "Ranks" has it.
SELECT
  rank,
  count(*)                                             AS steps,
  sum(duration_ns) // count(*) / 1e3                   AS step_mean_us,
  (sum(gpu_busy_ns) // count(*)) / (sum(duration_ns) // count(*)) AS gpu_busy,
  sum(exposed_communication_ns) // count(*) / 1e3      AS exposed_communication_us
FROM steps
GROUP BY rank
ORDER BY rank;
