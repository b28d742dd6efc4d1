-- What the step is made of, as the report's shares: of all ranks together, or of the rank that waits most in communication where
-- waiting is its largest share (it shows what the run loses; "judged_rank" then names it, NULL otherwise).
WITH parts AS (
  SELECT
    rank,
    sum(duration_ns)                                                          AS whole,
    sum(idle_loader_ns)                                                       AS data,
    sum(exposed_communication_ns + idle_collective_ns)                        AS communication,
    sum(idle_sync_ns)                                                         AS sync,
    sum(idle_launch_ns + idle_python_ns)                                      AS launch,
    sum(copy_ns + idle_copy_ns)                                               AS copy,
    sum(compute_ns)                                                           AS compute,
    sum(idle_allocator_ns + idle_profiler_ns + idle_unknown_ns)               AS other
  FROM steps
  GROUP BY GROUPING SETS ((), (rank))
),
shares AS (
  SELECT
    rank, data / whole AS data, communication / whole AS communication, sync / whole AS sync, launch / whole AS launch,
    copy / whole AS copy, compute / whole AS compute, other / whole AS other
  FROM parts
)
SELECT rank AS judged_rank, data, communication, sync, launch, copy, compute, other
FROM shares
WHERE rank IS NULL
   OR (communication > (SELECT communication FROM shares WHERE rank IS NULL)
       AND communication = greatest(data, communication, sync, launch, copy, compute))
ORDER BY rank IS NULL, communication DESC, rank
LIMIT 1;
