"""Opens an export in duckdb and prints its figures: duckdb_figures.py FILE.parquet

The statement of docs/import-export.md is run as it stands there, with the file's name in place of run.parquet.
"""

import json
import os
import re
import sys

import duckdb

DOCUMENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../docs/import-export.md")


def statement():
    """What is in use by place at the peak, as the document has it."""
    with open(DOCUMENT, encoding="utf-8") as document:
        return re.search(r"```sql\n(.*?)```", document.read(), re.DOTALL).group(1)


def documented():
    """The columns that the document lists."""
    with open(DOCUMENT, encoding="utf-8") as document:
        section = document.read().split("\n## Parquet\n")[1].split("\n## ")[0]
    return re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)


def main():
    file = sys.argv[1]
    connection = duckdb.connect()
    read = lambda sql: connection.sql(sql.replace("run.parquet", file))
    rows = lambda sql: [dict(zip(table.columns, row)) for table in [read(sql)] for row in table.fetchall()]
    metadata = {key.decode(): value.decode() for _, key, value in read(
        "SELECT file_name, key, value FROM parquet_kv_metadata('run.parquet')").fetchall()}
    figures = {
        "metadata": metadata,
        "columns": [row["column_name"] for row in rows("DESCRIBE FROM 'run.parquet'")],
        "rows": rows("SELECT count(*) AS n FROM 'run.parquet'")[0]["n"],
        "sorted": rows(
            "SELECT bool_and(event >= before) AS holds FROM "
            "(SELECT event, lag(event) OVER () AS before FROM 'run.parquet') WHERE before IS NOT NULL"
        )[0]["holds"],
        "largest_group": rows(
            "SELECT coalesce(max(row_group_num_rows), 0) AS n FROM parquet_metadata('run.parquet')"
        )[0]["n"],
        "events": rows("SELECT count(DISTINCT event) AS n FROM 'run.parquet'")[0]["n"],
        # What was restored before the history began is no peak of it, and was not made by it.
        "spaces": rows(
            """
            WITH run AS (
                SELECT *, if(layer = 'segments', 'blocks', layer) AS of_layer, coalesce(
                    max(event) FILTER (action = 'history-start') OVER (PARTITION BY process, device), 0) AS started
                FROM 'run.parquet' WHERE layer IS NOT NULL
            )
            SELECT process, device, of_layer AS layer,
                   max(allocated) FILTER (event >= started) AS peak_allocated,
                   max(reserved) FILTER (event >= started) AS peak_reserved,
                   arg_max(allocated, event) AS allocated, arg_max(reserved, event) AS reserved,
                   coalesce(sum(change), 0)::BIGINT AS changes,
                   count(*) FILTER (action IN ('block-alloc', 'alloc', 'create') AND result = 0 AND NOT inferred
                                    AND event > started) AS made
            FROM run GROUP BY process, device, of_layer
            """
        ),
        "by_place": rows(statement()),
    }
    if figures["columns"] != documented():
        raise SystemExit(f"docs/import-export.md lists {documented()}, the file has {figures['columns']}")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
