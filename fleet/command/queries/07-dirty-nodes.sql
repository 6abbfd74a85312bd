-- Which nodes are handed over dirty: something else held memory there that it should not have?
SELECT
    node,
    count(*) AS incidents,
    sum(CASE WHEN cause = 'orphan' THEN 1 ELSE 0 END) AS orphan,
    sum(CASE WHEN cause = 'unseen-holder' THEN 1 ELSE 0 END) AS unseen_holder,
    sum(CASE WHEN cause = 'stray-context' THEN 1 ELSE 0 END) AS stray_context
FROM incidents
WHERE cause IN ('orphan', 'unseen-holder', 'stray-context')
GROUP BY node
ORDER BY incidents DESC, node;
