-- Which one setting would have served the most of the requests that failed?
-- The shares are of the incidents with a history; of as many, the setting that is only a variable comes first.
WITH RECURSIVE
lists AS (
    SELECT
        concat(coalesce(served_by, ''), ';') AS names,
        count(*) AS times,
        sum(count(*)) OVER () AS with_history
    FROM incidents
    WHERE has_history
    GROUP BY 1
),
-- Each step cuts the first name off what is left of a list.
steps AS (
    SELECT names, times, with_history, '' AS name, names AS rest
    FROM lists
    UNION ALL
    SELECT
        steps.names,
        steps.times,
        steps.with_history,
        substring(steps.rest, 1, position(';' IN steps.rest) - 1) AS name,
        substring(steps.rest, position(';' IN steps.rest) + 1) AS rest
    FROM steps
    WHERE steps.rest <> ''
)
SELECT
    name,
    sum(times) AS incidents,
    sum(times) * 1e0 / max(with_history) AS share
FROM (
    -- A name that a list has twice counts once.
    SELECT DISTINCT names, times, with_history, name
    FROM steps
    WHERE name <> ''
) AS pairs
GROUP BY name
ORDER BY incidents DESC, CASE WHEN name = 'expandable' THEN 0 ELSE 1 END, name;
