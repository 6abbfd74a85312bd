-- When does it happen: how many incidents are there by hour of the day, in UTC?
SELECT
    extract(HOUR FROM time) AS hour,
    count(*) AS incidents,
    count(*) * 1e0 / sum(count(*)) OVER () AS share
FROM incidents
GROUP BY 1
ORDER BY hour;
