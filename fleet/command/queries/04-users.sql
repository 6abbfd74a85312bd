-- Which users meet it, and what share of all incidents is each one's?
-- The shares are of all incidents, also of those whose user is not known, so they may sum to less than 1.
SELECT name, incidents, share
FROM (
    SELECT
        "user" AS name,
        count(*) AS incidents,
        count(*) * 1e0 / sum(count(*)) OVER () AS share
    FROM incidents
    GROUP BY "user"
) AS users
WHERE name IS NOT NULL
ORDER BY incidents DESC, name;
