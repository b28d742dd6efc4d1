-- What lines cost over all ranks, and how far the ranks are apart: sums over the whole traces, as `stepline lines --format json`.
SELECT
  file, line, any_value(function)                        AS function, any_value(source) AS source,
  sum(forward_ns) / 1e3                                  AS cuda_self_us,
  sum(backward_ns) / 1e3                                 AS cuda_backward_us,
  sum(kernels)::BIGINT                                   AS kernels,
  sum(gpu_idle_ns) / 1e3                                 AS gpu_idle_us,
  min(forward_ns + backward_ns) / 1e3                    AS least_us,
  arg_min(rank, forward_ns + backward_ns)                AS least_on_rank,
  max(forward_ns + backward_ns) / 1e3                    AS most_us,
  arg_max(rank, forward_ns + backward_ns)                AS most_on_rank
FROM lines
GROUP BY file, line
ORDER BY sum(forward_ns + backward_ns) DESC, file, line;
