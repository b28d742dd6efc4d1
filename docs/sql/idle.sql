-- Why the GPU is idle: per step of a rank, by cause, line and what the host did.
SELECT
  cause, file, line,
  sum(duration_ns) // (SELECT count(*) FROM steps) / 1e3  AS us_per_step,
  sum(gaps)                                               AS gaps
FROM idle
GROUP BY ALL
ORDER BY us_per_step DESC, cause, file, line;
