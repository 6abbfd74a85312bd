-- What did it cost: how many GPU-hours, at most, had the runs that each cause ended?
-- Those are of the incidents counted in known_of: their length and their GPUs are known.
SELECT
    cause,
    count(*) AS incidents,
    count(run_seconds * 1e0 * gpus) AS known_of,
    coalesce(sum(run_seconds * 1e0 * gpus), 0) / 3600 AS gpu_hours_at_most
FROM incidents
GROUP BY cause
ORDER BY gpu_hours_at_most DESC, cause;
