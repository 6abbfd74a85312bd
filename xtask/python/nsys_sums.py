"""Sums of an export of Nsight Systems, made without whyoom: nsys_sums.py EXPORT"""

import json
import sqlite3
import sys

QUERY = """
SELECT bytes, memoryOperationType FROM CUDA_GPU_MEMORY_USAGE_EVENTS
WHERE memKind = 2 AND deviceId = 0 ORDER BY start
"""

now = peak = made = 0
for size, freed in sqlite3.connect(sys.argv[1]).execute(QUERY):
    now += -size if freed else size
    made += not freed
    peak = max(peak, now)
print(json.dumps({"now": now, "peak": peak, "made": made}))
