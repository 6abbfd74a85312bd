"""A large export of Nsight Systems whose rows do not lie in the order of time: nsys_long.py EXPORT ROWS"""

import sqlite3
import sys

# No divisor of the number of rows: every place is met once.
STRIDE = 7919

path, rows = sys.argv[1], int(sys.argv[2])


def row(place):
    time = place * STRIDE % rows
    return time, 1 << 24, 0, 1, 4096 * (1 + time // 2 % 1000), 0, 4096, 2, time % 2


database = sqlite3.connect(path)
database.execute("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)")
database.execute(
    "CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INT, globalPid INT, deviceId INT, contextId INT, "
    "address INT, pc INT, bytes INT, memKind INT, memoryOperationType INT)"
)
marks = ", ".join("?" * 9)
database.executemany(f"INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES ({marks})", map(row, range(rows)))
database.commit()
