-- Whose programs fail: how many incidents did each workload have, in its namespace?
-- Incidents that belong to no known workload are left out.
SELECT
    coalesce(namespace, '') AS namespace,
    workload,
    count(*) AS incidents
FROM incidents
WHERE workload IS NOT NULL
GROUP BY 1, 2
ORDER BY incidents DESC, namespace, workload;
