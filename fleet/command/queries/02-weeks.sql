-- Does it get better or worse: how many incidents did each week have, by cause?
-- A week is named by its Monday, in UTC.
SELECT
    CAST(date_trunc('week', time) AS DATE) AS monday,
    cause,
    count(*) AS incidents
FROM incidents
GROUP BY 1, 2
ORDER BY monday, incidents DESC, cause;
