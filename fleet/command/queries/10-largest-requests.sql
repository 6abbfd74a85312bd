-- Which failed requests were the largest for their GPU?
SELECT id, node, requested_bytes, capacity_bytes
FROM incidents
WHERE requested_bytes IS NOT NULL AND capacity_bytes > 0
ORDER BY requested_bytes * 1e0 / capacity_bytes DESC, id
LIMIT 20;
