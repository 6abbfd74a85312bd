-- Which workloads fail again and again: the same cause three times or more?
SELECT
    coalesce(namespace, '') AS namespace,
    workload,
    cause,
    count(*) AS incidents
FROM incidents
WHERE workload IS NOT NULL
GROUP BY 1, 2, 3
HAVING count(*) >= 3
ORDER BY incidents DESC, namespace, workload, cause;
