-- Who is waited for. Collectives of the ranks are joined by process group and sequence number (by name and occurrence where the
-- trace has no sequence numbers, and then only if all ranks ran as many). All ranks of a collective end together, so the others
-- wait from their own start until the last one's. Times are by the hosts' clocks.
WITH keyed AS (
  SELECT
    rank, process_group, group_ranks, sequence,
    CASE WHEN sequence < 0 THEN name ELSE '' END       AS unnumbered,
    CASE WHEN sequence < 0 THEN occurrence ELSE 0 END  AS nth,
    start_unix_ns, duration_ns, in_span,
    count(*) OVER (PARTITION BY rank, process_group, group_ranks, sequence < 0, CASE WHEN sequence < 0 THEN name END) AS runs
  FROM collectives
  WHERE process_group <> ''
),
joined AS (
  SELECT
    process_group, group_ranks, sequence, unnumbered, nth,
    max(start_unix_ns)                                  AS last_ns,
    arg_max(rank, (start_unix_ns, -rank))               AS late_rank,
    arg_max(in_span, (start_unix_ns, -rank))            AS late_in_span
  FROM keyed
  GROUP BY ALL
  HAVING count(*) > 1 AND count(*) = count(DISTINCT rank) AND max(start_unix_ns) > min(start_unix_ns)
     AND (sequence >= 0 OR min(runs) = max(runs))
),
waits AS (
  SELECT j.late_rank, k.rank AS waiting_rank, sum(least(j.last_ns - k.start_unix_ns, k.duration_ns)) AS wait_ns, count(*) AS collectives
  FROM joined j
  JOIN keyed k USING (process_group, group_ranks, sequence, unnumbered, nth)
  WHERE j.late_in_span AND k.rank <> j.late_rank
  GROUP BY ALL
),
counts AS (
  SELECT late_rank, count(*) AS collectives FROM joined WHERE late_in_span GROUP BY late_rank
)
SELECT
  w.late_rank                                           AS rank,
  max(w.wait_ns) // max(r.steps) / 1e3                  AS wait_us_per_step,
  arg_max(w.waiting_rank, (w.wait_ns, -w.waiting_rank)) AS waiting,
  max(c.collectives)                                    AS collectives
FROM waits w
JOIN counts c USING (late_rank)
JOIN ranks r ON r.rank = w.late_rank
GROUP BY w.late_rank
HAVING max(w.wait_ns) > 0
ORDER BY max(w.wait_ns) DESC, w.late_rank;
