-- What do programs run out of GPU memory for, and what share has each cause?
SELECT
    cause,
    count(*) AS incidents,
    count(*) * 1e0 / sum(count(*)) OVER () AS share
FROM incidents
GROUP BY cause
ORDER BY incidents DESC, cause;
